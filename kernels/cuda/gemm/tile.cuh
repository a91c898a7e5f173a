// What all our matrix products share: tiles in shared memory, their product by tensor cores, and where results go.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/common/isa.cuh"
#include "kernels/cuda/common/reduce.cuh"
#include "kernels/cuda/common/swizzle.cuh"
#include "kernels/cuda/common/vectors.cuh"
#include "kernels/cuda/device.hpp"

namespace servecast::kernels::SERVECAST_DEVICE {

inline constexpr int kDepth = 64;  // elements of k a stage: rows of 128 bytes in shared memory
inline constexpr int kRowChunks = kDepth / kChunk;

// kM × kN elements of y a block, shared out among kWarpsM × kWarpsN warps.
template <int kMPerBlock, int kNPerBlock, int kWarpsM, int kWarpsN>
struct Tile {
  static constexpr int kM = kMPerBlock;
  static constexpr int kN = kNPerBlock;
  static constexpr int kThreads = 32 * kWarpsM * kWarpsN;
  static constexpr int kWarpM = kM / kWarpsM;
  static constexpr int kWarpN = kN / kWarpsN;
  static constexpr int kColumnWarps = kWarpsN;
  static constexpr int kStage = (kM + kN) * kDepth;            // elements: kM rows of x, then kN of the weights
  static constexpr int kXChunks = kM * kRowChunks / kThreads;  // that each thread brings
  static constexpr int kWeightChunks = kN * kRowChunks / kThreads;
  static_assert(kWarpM % 16 == 0 && kWarpN % 16 == 0, "a warp multiplies by 16 × 16");
  static_assert(kXChunks * kThreads == kM * kRowChunks && kWeightChunks * kThreads == kN * kRowChunks,
                "all threads bring the same");
};

using SmallTile = Tile<16, 64, 1, 4>;
using MediumTile = Tile<64, 64, 2, 2>;
using LargeTile = Tile<128, 128, 2, 4>;

// Our products, one or by groups; device pointers. The grid has tiles of rows along x and of columns along y.
template <class X, class W, class Y>
struct Product {
  const X* x;                   // [·][k]
  const W* weights;             // [groups][n][k]
  Y* y;                         // [rows][n]
  const float* scales;          // of the weights, by W; null: none
  const std::int32_t* offsets;  // [groups + 1]; null: one group of all rows
  const std::int32_t* gather;   // [rows]; null: row r reads row r of x
  float scale;                  // of all results
  int rows;
  int groups;
  int n;
  int k;
  int group;     // int4: elements of k that share a scale
  bool aligned;  // chunks of x and of the weights lie on their size
};

// The block's part of y.
struct Part {
  int group = 0;
  int row = 0;   // the first
  int rows = 0;  // at most the tile's; 0: nothing is left for this block
  int column = 0;
};

// Finds the group to which the block's tile of rows belongs; every warp does it for itself.
template <class Tile, class Product>
__device__ Part part_of_block(const Product& product) {
  const int column = static_cast<int>(blockIdx.y) * Tile::kN;
  int tile = static_cast<int>(blockIdx.x);
  const auto part = [&](int group, int begin, int end, int first) {
    const int row = begin + first * Tile::kM;
    return Part{group, row, end - row < Tile::kM ? end - row : Tile::kM, column};
  };
  if (product.offsets == nullptr) return part(0, 0, product.rows, tile);
  for (int group = 0; group < product.groups; group += 32) {
    const int mine = group + lane_index();
    const bool exists = mine < product.groups;
    const int begin = exists ? product.offsets[mine] : 0;
    const int end = exists ? product.offsets[mine + 1] : 0;
    const int through = warp_running_sum((end - begin + Tile::kM - 1) / Tile::kM);
    const unsigned beyond = __ballot_sync(kAllLanes, through > tile);
    if (beyond != 0) {
      const int lane = __ffs(static_cast<int>(beyond)) - 1;
      const int before = lane == 0 ? 0 : __shfl_sync(kAllLanes, through, lane - 1);
      return part(group + lane, __shfl_sync(kAllLanes, begin, lane), __shfl_sync(kAllLanes, end, lane), tile - before);
    }
    tile -= __shfl_sync(kAllLanes, through, 31);
  }
  return {};
}

// A warp's part of the tile, as the tensor cores spread it over lanes.
template <class Tile>
struct Accumulators {
  static constexpr int kRows = Tile::kWarpM / 16;
  static constexpr int kColumns = Tile::kWarpN / 8;
  float at[kRows][kColumns][4] = {};

  // Adds the product of one stage: kDepth elements of k.
  template <class T, class Isa>
  __device__ __forceinline__ void multiply(const T* stage) {
    const int lane = lane_index();
    const int x_row = warp_index() / Tile::kColumnWarps * Tile::kWarpM + lane % 16;
    const int weight_row = Tile::kM + warp_index() % Tile::kColumnWarps * Tile::kWarpN + lane % 8 + lane / 16 * 8;
#pragma unroll
    for (int depth = 0; depth < kRowChunks; depth += 2) {
      std::uint32_t a[kRows][4];
#pragma unroll
      for (int i = 0; i < kRows; ++i) ldmatrix_x4(a[i], stage + swizzled<kDepth>(x_row + i * 16, depth + lane / 16));
#pragma unroll
      for (int j = 0; j < kColumns; j += 2) {
        std::uint32_t b[4];
        ldmatrix_x4(b, stage + swizzled<kDepth>(weight_row + j * 8, depth + lane / 8 % 2));
#pragma unroll
        for (int i = 0; i < kRows; ++i) {
          Isa::template multiply<T>(at[i][j], a[i], b[0], b[1]);
          Isa::template multiply<T>(at[i][j + 1], a[i], b[2], b[3]);
        }
      }
    }
  }

  // Writes the part times `scale`, and times column_scales[column] where there are some.
  template <class Y>
  __device__ __forceinline__ void store(Y* y, int n, const Part& part, float scale, const float* column_scales) const {
    const int lane = lane_index();
    const int first_row = warp_index() / Tile::kColumnWarps * Tile::kWarpM + lane / 4;
    const int first_column = part.column + warp_index() % Tile::kColumnWarps * Tile::kWarpN + lane % 4 * 2;
#pragma unroll
    for (int j = 0; j < kColumns; ++j) {
      const int column = first_column + j * 8;
      if (column >= n) continue;
      const bool pair = column + 1 < n;
      const float left = column_scales != nullptr ? scale * column_scales[column] : scale;
      const float right = column_scales != nullptr && pair ? scale * column_scales[column + 1] : scale;
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const int row = first_row + i * 16 + half * 8;
          if (row >= part.rows) continue;
          Y* to = y + static_cast<std::int64_t>(part.row + row) * n + column;
          const float values[2] = {at[i][j][half * 2] * left, at[i][j][half * 2 + 1] * right};
          if (n % 2 == 0) {
            store_floats<Y, 2>(to, values);
          } else {
            to[0] = from_float<Y>(values[0]);
            if (pair) to[1] = from_float<Y>(values[1]);
          }
        }
      }
    }
  }
};

}  // namespace servecast::kernels::SERVECAST_DEVICE
