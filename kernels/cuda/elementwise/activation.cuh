// Activations of an MLP, gated or plain.
#pragma once

#include "kernels/cuda/common/vectors.cuh"
#include "kernels/operators/elementwise.hpp"

namespace servecast::kernels::SERVECAST_DEVICE {

__device__ __forceinline__ float sigmoid(float x) { return 1.0F / (1.0F + __expf(-x)); }

__device__ __forceinline__ float silu(float x) { return x * sigmoid(x); }

// x/2 · (1 + tanh u) with u = √(2/π) · (x + 0.044715 x³); (1 + tanh u)/2 is the sigmoid of 2u.
__device__ __forceinline__ float gelu(float x) {
  return x * sigmoid(1.5957691216057308F * (x + 0.044715F * x * x * x));
}

// A row a block along x, parts of the row along y. `width` is a multiple of kCount.
template <class T, ActivationKind kKind, int kCount>
__global__ void activation_kernel(const T* x, T* out, int width) {
  constexpr bool kGated = kKind != ActivationKind::kGelu;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * width;
  const T* in = x + (kGated ? 2 * row : row);
  const int step = static_cast<int>(gridDim.y) * thread_count() * kCount;
  for (int i = (static_cast<int>(blockIdx.y) * thread_count() + thread_index()) * kCount; i < width; i += step) {
    float values[kCount];
    load_floats<T, kCount>(in + i, values);
#pragma unroll
    for (int j = 0; j < kCount; ++j) values[j] = kKind == ActivationKind::kSiluMul ? silu(values[j]) : gelu(values[j]);
    if constexpr (kGated) {
      float factors[kCount];
      load_floats<T, kCount>(in + width + i, factors);
#pragma unroll
      for (int j = 0; j < kCount; ++j) values[j] *= factors[j];
    }
    store_floats<T, kCount>(out + row + i, values);
  }
}

}  // namespace servecast::kernels::SERVECAST_DEVICE
