// Root-mean-square normalisation, one block a row.
#pragma once

#include "kernels/cuda/common/reduce.cuh"
#include "kernels/cuda/common/vectors.cuh"

namespace servecast::kernels::SERVECAST_DEVICE {

template <class T>
struct RmsNormRows {
  const T* x;
  T* residual;  // null: none
  const T* weight;
  T* out;
  int width;  // a multiple of the kernel's kCount
  float epsilon;
};

// The row is read again for the second pass, which its size lets the cache serve. With a residual that is the sum as
// it was rounded, written by the same thread.
template <class T, int kCount>
__global__ void rms_norm_kernel(RmsNormRows<T> rows) {
  __shared__ float scratch[kMaxWarps];
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * rows.width;
  const int first = thread_index() * kCount;
  const int step = thread_count() * kCount;
  float squares = 0;
  for (int i = first; i < rows.width; i += step) {
    float x[kCount];
    load_floats<T, kCount>(rows.x + row + i, x);
    if (rows.residual != nullptr) {
      float sum[kCount];
      load_floats<T, kCount>(rows.residual + row + i, sum);
#pragma unroll
      for (int j = 0; j < kCount; ++j) x[j] = to_float(from_float<T>(x[j] + sum[j]));
      store_floats<T, kCount>(rows.residual + row + i, x);
    }
#pragma unroll
    for (int j = 0; j < kCount; ++j) squares += x[j] * x[j];
  }
  squares = block_reduce(squares, 0.0F, Plus{}, scratch);
  const float scale = rsqrtf(squares / static_cast<float>(rows.width) + rows.epsilon);
  const T* source = rows.residual != nullptr ? rows.residual : rows.x;
  for (int i = first; i < rows.width; i += step) {
    float x[kCount];
    float weight[kCount];
    load_floats<T, kCount>(source + row + i, x);
    load_floats<T, kCount>(rows.weight + i, weight);
#pragma unroll
    for (int j = 0; j < kCount; ++j) x[j] = x[j] * scale * weight[j];
    store_floats<T, kCount>(rows.out + row + i, x);
  }
}

}  // namespace servecast::kernels::SERVECAST_DEVICE
