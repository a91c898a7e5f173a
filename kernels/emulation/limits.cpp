#include "kernels/emulation/limits.hpp"

#include <array>

namespace servecast::kernels::emulation {
namespace {

constexpr std::int64_t kKib = 1024;

// CUDA C++ Programming Guide 13.0, "Technical Specifications per Compute Capability": maximum amount of shared memory
// per thread block. All of them have blocks of at most 1024 threads, (1024, 1024, 64) along the axes, and grids of at
// most (2^31 - 1, 65535, 65535).
constexpr std::array<Limits, 8> kTable = {{
    {.architecture = 75, .shared_memory_per_block = 64 * kKib},
    {.architecture = 80, .shared_memory_per_block = 163 * kKib},
    {.architecture = 86, .shared_memory_per_block = 99 * kKib},
    {.architecture = 89, .shared_memory_per_block = 99 * kKib},
    {.architecture = 90, .shared_memory_per_block = 227 * kKib},
    {.architecture = 100, .shared_memory_per_block = 227 * kKib},
    {.architecture = 103, .shared_memory_per_block = 227 * kKib},
    {.architecture = 120, .shared_memory_per_block = 99 * kKib},
}};

}  // namespace

std::optional<Limits> limits_of(int architecture) {
  for (const Limits& limits : kTable) {
    if (limits.architecture == architecture) return limits;
  }
  return std::nullopt;
}

}  // namespace servecast::kernels::emulation
