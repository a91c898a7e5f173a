// Online softmax over the keys of a row, in base 2: the scores' scale is folded into log2(e) · scale > 0.
#pragma once

#include "kernels/cuda/attention/fragments.cuh"
#include "kernels/cuda/common/numbers.hpp"
#include "kernels/cuda/common/reduce.cuh"

namespace servecast::kernels::SERVECAST_DEVICE {

// 2^x within 2 ulp, results below the normal range flushed to zero. exp2f spends instructions on those.
__device__ __forceinline__ float fast_exp2(float x) {
#if defined(SERVECAST_EMULATION)
  return exp2f(x);
#else
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#endif
}

// Over the four lanes that share a row of a fragment.
template <class Combine>
__device__ __forceinline__ float quad_reduce(float value, Combine combine) {
  value = combine(value, __shfl_xor_sync(kAllLanes, value, 1));
  return combine(value, __shfl_xor_sync(kAllLanes, value, 2));
}

// What a row has seen: its largest score, unscaled, and the sum of its exponentials relative to that. A lane holds two
// rows, and of their sums only what it added itself.
struct SoftmaxRows {
  float largest[2] = {-INFINITY, -INFINITY};
  float sum[2] = {0, 0};
};

// A row that has seen no key keeps base 0, so that 2^(−∞ − base) is 0 and not NaN.
__device__ __forceinline__ float softmax_base(float largest, float scale) {
  return largest == -INFINITY ? 0.0F : largest * scale;
}

// Turns scores into exponentials relative to the row's largest so far; what was summed before is to be multiplied by
// `rescale`. Masked scores are −∞.
template <int kFragments>
__device__ __forceinline__ void online_softmax(float (&scores)[kFragments][4], float scale, SoftmaxRows& rows,
                                               float (&rescale)[2]) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float largest = rows.largest[r];
#pragma unroll
    for (int i = 0; i < kFragments; ++i) {
      largest = fmaxf(largest, fmaxf(scores[i][2 * r], scores[i][2 * r + 1]));
    }
    largest = quad_reduce(largest, Larger{});
    const float base = softmax_base(largest, scale);
    rescale[r] = fast_exp2(rows.largest[r] * scale - base);
    rows.largest[r] = largest;
    float sum = 0;
#pragma unroll
    for (int i = 0; i < kFragments; ++i) {
#pragma unroll
      for (int j = 2 * r; j < 2 * r + 2; ++j) {
        scores[i][j] = fast_exp2(scores[i][j] * scale - base);
        sum += scores[i][j];
      }
    }
    rows.sum[r] = rows.sum[r] * rescale[r] + sum;
  }
}

// Most tiles bring no row a larger score; then there is nothing to do.
template <int kFragments>
__device__ __forceinline__ void rescale_rows(float (&fragments)[kFragments][4], const float (&factors)[2]) {
  if (__any_sync(kAllLanes, factors[0] != 1 || factors[1] != 1)) scale_rows(fragments, factors);
}

}  // namespace servecast::kernels::SERVECAST_DEVICE
