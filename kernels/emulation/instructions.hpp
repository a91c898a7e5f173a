// What device code asks of the emulator: where it stands, and the instructions that involve other threads. Only for
// code that runs inside a launch.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/emulation/builtin_types.hpp"

namespace servecast::kernels::emulation {

// A line of a kernel. As a default argument `Place place = Place::here()` it is the caller's line.
struct Place {
  const char* file = "";
  int line = 0;

  static constexpr Place here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) { return {file, line}; }
  friend bool operator==(const Place&, const Place&) = default;
};

struct Coordinates {
  uint3 index;  // threadIdx
  unsigned lane = 0;
};

struct LaunchState {
  uint3 block_index;
  dim3 block_size;
  dim3 grid_size;
  std::byte* shared = nullptr;  // dynamic shared memory, null where there is none; aligned to 128 bytes
};

// Written by the emulator alone.
extern const Coordinates* running;  // the thread that runs now
extern LaunchState launch_state;

// __syncthreads: all threads of the block that have not ended.
void sync_threads(Place place);

// The warp operations wait for all lanes of the mask. Lanes that have ended may be named by a vote or a sync, but not
// by a shuffle. Only sync_warp orders memory.
void sync_warp(std::uint32_t mask, Place place);

struct Vote {
  std::uint32_t yes = 0;     // the lanes whose predicate was true
  std::uint32_t voters = 0;  // the lanes that took part
};
Vote vote(std::uint32_t mask, bool predicate, Place place);

// The bits that lane `source` of the warp brought.
std::uint64_t shuffle(std::uint32_t mask, std::uint64_t bits, unsigned source, Place place);

// cp.async of 16 bytes to shared memory: `source_bytes` of them from `from`, the rest zeros.
void copy_async(void* to, const void* from, int source_bytes, Place place);
void commit_copies(Place place);
// Waits until at most `pending` of this thread's committed groups are unfinished.
void wait_copies(int pending, Place place);

// ldmatrix of `count` (2 or 4) matrices of 8 × 8 16-bit elements. Lane 8·m + i brings row i of matrix m.
void load_matrices(std::uint32_t* registers, int count, bool transposed, const void* row, Place place);

enum class MatrixFormat : std::uint8_t { kBf16, kF16 };

// d += a · b with the fragments of mma.m16n8k16 (a: 4 registers, b: 2) and mma.m16n8k8 (a: 2, b: 1; f16 only).
void multiply_m16n8k16(MatrixFormat format, float* d, const std::uint32_t* a, std::uint32_t b0, std::uint32_t b1,
                       Place place);
void multiply_m16n8k8(float* d, std::uint32_t a0, std::uint32_t a1, std::uint32_t b0, Place place);

}  // namespace servecast::kernels::emulation
