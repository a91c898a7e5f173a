// Tiles of two-byte elements in shared memory, and the fragments that the tensor cores multiply.
//
// In a 16×8 fragment of results, lane l holds rows l/4 and l/4 + 8, columns 2(l mod 4) and the next one: d[0], d[1] of
// the upper row, d[2], d[3] of the lower.
#pragma once

#include <cstdint>

#include "kernels/cuda/common/isa.cuh"
#include "kernels/cuda/common/swizzle.cuh"
#include "kernels/cuda/common/vectors.cuh"

namespace servecast::kernels::SERVECAST_DEVICE {

inline constexpr int kFragmentRows = 16;
inline constexpr int kFragmentDepth = 16;

// Where a lane finds its share of a tile's 16×16 fragments. Tiles lie in dynamic shared memory, aligned to 128 bytes.
//
// Only the first fragment's place is computed with the lane's number; the others lie at constants from it, xor within
// 128 bytes and plus beyond. Computed each on its own, two dozen addresses would fill registers.
template <int kWidth, class T>
class FragmentPlaces {
 public:
  __device__ FragmentPlaces(const T* tile, int lane_row, int lane_chunk)
      : first_(static_cast<int>(tile - dynamic_shared<T>()) + swizzled<kWidth>(lane_row, lane_chunk)) {}

  // `row` is a multiple of 8, `column` one of 16.
  __device__ __forceinline__ const T* at(int row, int column) const {
    constexpr int kSwizzled = kWidth == 32 ? 31 : 63;
    return dynamic_shared<T>() + ((first_ ^ (column & kSwizzled)) + row * kWidth + (column & ~kSwizzled));
  }

 private:
  int first_;
};

// Fragments of left operands: rows of the tile are rows of the operand. Transposed by ldmatrix they are right operands
// as they lie (values): registers 0 and 1 belong to the first eight columns, 2 and 3 to the next.
template <int kWidth, class T>
__device__ __forceinline__ FragmentPlaces<kWidth, T> fragments_of(const T* tile) {
  return {tile, lane_index() & 15, lane_index() >> 4};
}

// Fragments of right operands whose columns are the tile's rows (keys): registers 0 and 1 belong to the first eight
// rows, 2 and 3 to the next.
template <int kWidth, class T>
__device__ __forceinline__ FragmentPlaces<kWidth, T> column_fragments_of(const T* tile) {
  const int lane = lane_index();
  return {tile, (lane & 7) + ((lane >> 4) << 3), (lane >> 3) & 1};
}

// Two neighbouring fragments of results as the left operand of the next product.
template <class T>
__device__ __forceinline__ void as_left(std::uint32_t (&a)[4], const float (&left)[4], const float (&right)[4]) {
  a[0] = pack2<T>(left[0], left[1]);
  a[1] = pack2<T>(left[2], left[3]);
  a[2] = pack2<T>(right[0], right[1]);
  a[3] = pack2<T>(right[2], right[3]);
}

template <int kFragments>
__device__ __forceinline__ void clear(float (&fragments)[kFragments][4]) {
#pragma unroll
  for (int i = 0; i < kFragments; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) fragments[i][j] = 0;
  }
}

// Row r of each fragment (0: upper, 1: lower) times factors[r].
template <int kFragments>
__device__ __forceinline__ void scale_rows(float (&fragments)[kFragments][4], const float (&factors)[2]) {
#pragma unroll
  for (int i = 0; i < kFragments; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) fragments[i][j] *= factors[j / 2];
  }
}

// Column c of the fragments, side by side, times factors[c].
template <int kFragments>
__device__ __forceinline__ void scale_columns(float (&fragments)[kFragments][4], const float* factors) {
#pragma unroll
  for (int i = 0; i < kFragments; ++i) {
    const float2 pair = *reinterpret_cast<const float2*>(factors + i * 8 + lane_index() % 4 * 2);
#pragma unroll
    for (int j = 0; j < 4; ++j) fragments[i][j] *= j % 2 == 0 ? pair.x : pair.y;
  }
}

}  // namespace servecast::kernels::SERVECAST_DEVICE
