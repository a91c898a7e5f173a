// Eight neighbouring elements of a row of stored values: fetched as they are, converted when they are needed.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/common/vectors.cuh"
#include "kernels/cuda/gemm/tile.cuh"

namespace servecast::kernels::SERVECAST_DEVICE {

// Two int4 elements, the low nibble first, stored with 8 added.
struct Int4Pair {
  std::uint8_t bits;
};

// Elements of S, zeros beyond the end of the row.
template <class S>
struct Chunk {
  Vector<S, kChunk> values = {};

  // `base` points to elements of S; the row begins `row · k` elements behind it.
  __device__ __forceinline__ void fetch(const S* base, std::int64_t row, int element, int k, bool aligned) {
    const S* from = base + row * k + element;
    if (aligned && element + kChunk <= k) {
      values = load_vector<S, kChunk>(from);
      return;
    }
#pragma unroll
    for (int i = 0; i < kChunk; ++i) values.at[i] = element + i < k ? from[i] : S{};
  }

  // In T every stored value is exact; scales, if any, are the results'.
  template <class T>
  __device__ __forceinline__ Vector<T, kChunk> converted() const {
    if constexpr (std::is_same_v<S, T>) {
      return values;
    } else {
      Vector<T, kChunk> result;
#pragma unroll
      for (int i = 0; i < kChunk; ++i) {
        if constexpr (std::is_same_v<S, std::int8_t>) {
          result.at[i] = from_float<T>(static_cast<float>(values.at[i]));
        } else {
          result.at[i] = from_float<T>(to_float(values.at[i]));
        }
      }
      return result;
    }
  }
};

// Eight int4 elements of one group, which their scale multiplies when they are converted.
template <>
struct Chunk<Int4Pair> {
  std::uint32_t bits = 0x88888888U;  // zeros
  float scale = 0;

  // k is a multiple of the group and the group of kChunk, so that a chunk lies inside a group and on four bytes.
  __device__ __forceinline__ void fetch(const Int4Pair* base, std::int64_t row, int element, int k, const float* scales,
                                        int group) {
    if (element >= k) return;
    bits = *reinterpret_cast<const std::uint32_t*>(base + (row * k + element) / 2);
    scale = scales[row * (k / group) + element / group];
  }

  template <class T>
  __device__ __forceinline__ Vector<T, kChunk> converted() const {
    Vector<T, kChunk> result;
#pragma unroll
    for (int i = 0; i < kChunk; ++i) {
      result.at[i] = from_float<T>(static_cast<float>(static_cast<int>(bits >> 4 * i & 15U) - 8) * scale);
    }
    return result;
  }
};

}  // namespace servecast::kernels::SERVECAST_DEVICE
