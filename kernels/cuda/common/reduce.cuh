// Sums and maxima over a warp or a block, in a fixed order: the same operands give the same bits.
#pragma once

#include <cstdint>

#include "kernels/cuda/common/vectors.cuh"
#include "kernels/cuda/device.hpp"

namespace servecast::kernels::SERVECAST_DEVICE {

inline constexpr unsigned kAllLanes = 0xffffffffU;
inline constexpr int kMaxWarps = 32;  // a block has at most 1024 threads

struct Plus {
  template <class T>
  __device__ __forceinline__ T operator()(T a, T b) const {
    return a + b;
  }
};

struct Larger {
  template <class T>
  __device__ __forceinline__ T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};

// All lanes get the result.
template <class T, class Combine>
__device__ __forceinline__ T warp_reduce(T value, Combine combine) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    value = combine(value, __shfl_xor_sync(kAllLanes, value, distance));
  }
  return value;
}

// All threads get the result. Begins with a write to `scratch` (kMaxWarps elements, shared) and ends with a barrier,
// so that calls can follow each other.
template <class T, class Combine>
__device__ T block_reduce(T value, T neutral, Combine combine, T* scratch) {
  value = warp_reduce(value, combine);
  if (lane_index() == 0) scratch[warp_index()] = value;
  __syncthreads();
  value = warp_reduce(lane_index() < warp_count() ? scratch[lane_index()] : neutral, combine);
  __syncthreads();
  return value;
}

// The sum over this lane and those before it.
template <class T>
__device__ __forceinline__ T warp_running_sum(T value) {
#pragma unroll
  for (int distance = 1; distance < 32; distance *= 2) {
    const T before = __shfl_up_sync(kAllLanes, value, static_cast<unsigned>(distance));
    if (lane_index() >= distance) value = value + before;
  }
  return value;
}

}  // namespace servecast::kernels::SERVECAST_DEVICE
