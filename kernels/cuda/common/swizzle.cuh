// Where the chunks of a tile lie in shared memory.
//
// A row is a whole number of 16-byte chunks. Chunk c of row r lies at c xor (a few bits of r), so that the eight rows
// that one ldmatrix reads touch all 32 banks once.
#pragma once

#include "kernels/cuda/device.hpp"

namespace servecast::kernels::SERVECAST_DEVICE {

inline constexpr int kChunk = 8;  // two-byte elements in 16 bytes

// The element at which a chunk begins, in a tile whose rows have kWidth elements.
template <int kWidth>
__device__ __forceinline__ int swizzled(int row, int chunk) {
  static_assert(kWidth == 32 || kWidth % 64 == 0, "the rows of a tile are 32 elements, or a multiple of 64");
  const int shift = kWidth == 32 ? (row >> 1) & 3 : row & 7;
  return row * kWidth + ((chunk ^ shift) * kChunk);
}

}  // namespace servecast::kernels::SERVECAST_DEVICE
