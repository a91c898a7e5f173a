// Rows of bytes that move by a list: embeddings, copies of cache blocks, and their gathering and scattering.
#pragma once

#include <cstdint>

#include "kernels/cuda/common/types.hpp"
#include "kernels/cuda/common/vectors.cuh"

namespace servecast::kernels::SERVECAST_DEVICE {

inline constexpr int kMoveThreads = 256;
inline constexpr int kMoveUnroll = 4;  // units in flight a thread

// Row `i` of the move goes from row from[i · stride] of `source` to row to[i · stride] of `target`; a null list means
// row i itself.
struct RowMoves {
  const std::int32_t* from;
  const std::int32_t* to;
  int stride;
  std::int64_t units;  // of a row
};

// A row a block along x, parts of the row along y.
template <class Unit>
__global__ void __launch_bounds__(kMoveThreads) move_rows_kernel(const Unit* source, Unit* target, RowMoves moves) {
  const std::int64_t row = blockIdx.x;
  const std::int64_t from_row = moves.from != nullptr ? moves.from[row * moves.stride] : row;
  const std::int64_t to_row = moves.to != nullptr ? moves.to[row * moves.stride] : row;
  const Unit* from = source + from_row * moves.units;
  Unit* to = target + to_row * moves.units;
  const std::int64_t part = static_cast<std::int64_t>(kMoveUnroll) * kMoveThreads;
  for (std::int64_t begin = blockIdx.y * part; begin < moves.units; begin += gridDim.y * part) {
    Unit held[kMoveUnroll];
#pragma unroll
    for (int j = 0; j < kMoveUnroll; ++j) {
      const std::int64_t i = begin + j * kMoveThreads + thread_index();
      if (i < moves.units) held[j] = from[i];
    }
#pragma unroll
    for (int j = 0; j < kMoveUnroll; ++j) {
      const std::int64_t i = begin + j * kMoveThreads + thread_index();
      if (i < moves.units) to[i] = held[j];
    }
  }
}

template <class Unit>
Status move_rows(const void* source, void* target, std::int64_t rows, const RowMoves& moves, DeviceStream stream) {
  if (rows == 0) return {};
  const std::int64_t parts = (moves.units + kMoveUnroll * kMoveThreads - 1) / (kMoveUnroll * kMoveThreads);
  const Grid grid{dim3(static_cast<unsigned>(rows), grid_extent(parts)), dim3(kMoveThreads), 0, stream};
  return launch(move_rows_kernel<Unit>, grid, static_cast<const Unit*>(source), static_cast<Unit*>(target), moves);
}

}  // namespace servecast::kernels::SERVECAST_DEVICE
