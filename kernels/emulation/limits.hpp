// What an architecture can hold. The emulator refuses what the device would refuse.
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/emulation/builtin_types.hpp"

namespace servecast::kernels::emulation {

// Shared memory of a block without the opt-in, on every architecture: dynamic and static together.
inline constexpr std::int64_t kSharedWithoutOptIn = 48 * 1024;
// Dynamic shared memory beyond which launch() asks for the opt-in, as the CUDA world does.
inline constexpr std::int64_t kDynamicWithoutOptIn = 16 * 1024;
// The emulator does not see a kernel's static shared memory; it counts this much beside dynamic one, which is what a
// kernel may have: tools/ptxas_table.py holds every kernel to it.
inline constexpr std::int64_t kStaticAllowance = 1024;
inline constexpr unsigned kWarpSize = 32;
inline constexpr unsigned kMaxThreads = 1024;  // of a block

struct Limits {
  int architecture = 0;                      // compute capability times ten
  std::int64_t shared_memory_per_block = 0;  // with the opt-in
  unsigned threads_per_block = kMaxThreads;
  dim3 block = dim3(1024, 1024, 64);
  dim3 grid = dim3(2147483647, 65535, 65535);
};

// Nothing where the table does not have the architecture.
[[nodiscard]] std::optional<Limits> limits_of(int architecture);

}  // namespace servecast::kernels::emulation
