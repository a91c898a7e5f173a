// Weights of int8 or int4 written out in the type of the product, for a library that multiplies one type.
#pragma once

#include <cstdint>

#include "kernels/cuda/gemm/chunks.cuh"

namespace servecast::kernels::SERVECAST_DEVICE {

inline constexpr int kDequantiseThreads = 256;

template <class W>
struct QuantisedWeights {
  const W* weights;     // [n][k]
  const float* scales;  // int8: [n]; int4: [n][k/group]
  int k;
  int group;     // int4 only
  bool aligned;  // chunks lie on their size
};

template <class T, class W>
__device__ __forceinline__ Vector<T, kChunk> dequantised(const QuantisedWeights<W>& from, std::int64_t row,
                                                         int element) {
  Chunk<W> chunk;
  if constexpr (std::is_same_v<W, Int4Pair>) {
    chunk.fetch(from.weights, row, element, from.k, from.scales, from.group);
    return chunk.template converted<T>();
  } else {
    chunk.fetch(from.weights, row, element, from.k, from.aligned);
    const float scale = from.scales[row];
    Vector<T, kChunk> values;
#pragma unroll
    for (int i = 0; i < kChunk; ++i) values.at[i] = from_float<T>(static_cast<float>(chunk.values.at[i]) * scale);
    return values;
  }
}

// A row a block along x, parts of the row along y. `out` lies on 16 bytes.
template <class T, class W>
__global__ void __launch_bounds__(kDequantiseThreads) dequantise_kernel(QuantisedWeights<W> from, T* out) {
  const std::int64_t row = blockIdx.x;
  T* to = out + row * from.k;
  const int step = static_cast<int>(gridDim.y) * kDequantiseThreads * kChunk;
  const int first = (static_cast<int>(blockIdx.y) * kDequantiseThreads + thread_index()) * kChunk;
  for (int element = first; element < from.k; element += step) {
    const Vector<T, kChunk> values = dequantised<T>(from, row, element);
    if (from.k % kChunk == 0) {
      store_vector(to + element, values);
      continue;
    }
#pragma unroll
    for (int i = 0; i < kChunk; ++i) {
      if (element + i < from.k) to[element + i] = values.at[i];
    }
  }
}

}  // namespace servecast::kernels::SERVECAST_DEVICE
