// The experts' answers of a token, summed by its weights.
#pragma once

#include <cstdint>

#include "kernels/cuda/common/vectors.cuh"

namespace servecast::kernels::SERVECAST_DEVICE {

// A token a block along x, parts of the row along y. `width` is a multiple of kCount.
template <class T, int kCount>
__global__ void combine_experts_kernel(const float* weights, const std::int32_t* positions, const T* rows, T* out,
                                       int chosen, int width) {
  const std::int64_t token = blockIdx.x;
  const int step = static_cast<int>(gridDim.y) * thread_count() * kCount;
  for (int i = (static_cast<int>(blockIdx.y) * thread_count() + thread_index()) * kCount; i < width; i += step) {
    float sum[kCount] = {};
    for (int choice = 0; choice < chosen; ++choice) {
      const std::int64_t row = positions[token * chosen + choice];
      const float weight = weights[token * chosen + choice];
      float values[kCount];
      load_floats<T, kCount>(rows + row * width + i, values);
#pragma unroll
      for (int j = 0; j < kCount; ++j) sum[j] += weight * values[j];
    }
    store_floats<T, kCount>(out + token * width + i, sum);
  }
}

}  // namespace servecast::kernels::SERVECAST_DEVICE
