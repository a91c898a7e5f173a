// Walks over one row of a vocabulary by one block, with weights as fixed-point integers: their sums do not depend on
// the order of adding, so every pass over a row agrees with every other to the last bit.
#pragma once

#include <cstdint>

#include "kernels/cuda/common/reduce.cuh"
#include "kernels/cuda/common/vectors.cuh"

namespace servecast::kernels::SERVECAST_DEVICE {

inline constexpr int kRowThreads = 1024;

using Mass = unsigned long long;

// The first index at which a running sum of weights exceeds a threshold, and the sum before it.
struct Crossing {
  int index;
  Mass before;
};

struct RowScratch {
  Mass sums[kMaxWarps];
  Mass of_warp[kMaxWarps];
  Crossing crossing;
};

// The elements of a row that one warp walks over, in order: whole runs of 32.
struct Share {
  int begin;
  int end;
};

__device__ __forceinline__ Share share_of_warp(int length) {
  const int size = (length + thread_count() - 1) / thread_count() * 32;
  const int begin = warp_index() * size;
  return {begin < length ? begin : length, begin + size < length ? begin + size : length};
}

// The sum of weight(i) over the row. Leaves each warp's share of it in scratch.of_warp.
template <class Weight>
__device__ Mass sum_row(int length, const Weight& weight, RowScratch& scratch) {
  const Share share = share_of_warp(length);
  Mass sum = 0;
#pragma unroll 4
  for (int i = share.begin + lane_index(); i < share.end; i += 32) sum += weight(i);
  sum = warp_reduce(sum, Plus{});
  if (lane_index() == 0) scratch.of_warp[warp_index()] = sum;
  return block_reduce(lane_index() == 0 ? sum : Mass{0}, Mass{0}, Plus{}, scratch.sums);
}

// Where the running sum of weight(i) exceeds `threshold`, which is less than the row's sum; after sum_row of the same
// weights. All threads get the result.
template <class Weight>
__device__ Crossing find_crossing(int length, Mass threshold, const Weight& weight, RowScratch& scratch) {
  Mass before = 0;
  for (int warp = 0; warp < warp_index(); ++warp) before += scratch.of_warp[warp];
  if (before <= threshold && threshold < before + scratch.of_warp[warp_index()]) {  // true for one warp, as a whole
    const Share share = share_of_warp(length);
    for (int run = share.begin; run < share.end; run += 32) {
      const int i = run + lane_index();
      const Mass own = i < share.end ? weight(i) : Mass{0};
      const Mass through = before + warp_running_sum(own);
      const unsigned beyond = __ballot_sync(kAllLanes, through > threshold);
      if (beyond != 0) {
        if (lane_index() == __ffs(static_cast<int>(beyond)) - 1) scratch.crossing = {i, through - own};
        break;
      }
      before = __shfl_sync(kAllLanes, through, 31);
    }
  }
  __syncthreads();
  const Crossing crossing = scratch.crossing;
  __syncthreads();
  return crossing;
}

// A share of `mass`: ⌊uniform · mass⌋, less than `mass` for a uniform number below 1.
__device__ __forceinline__ Mass portion(float uniform, Mass mass) {
  return static_cast<Mass>(static_cast<double>(uniform) * static_cast<double>(mass));
}

// A draw from a row of masses, not all 0: the first index at which their running sum exceeds `uniform` of the total.
template <class Weight>
__device__ int draw(int length, float uniform, const Weight& weight, RowScratch& scratch) {
  const Mass total = sum_row(length, weight, scratch);
  return find_crossing(length, portion(uniform, total), weight, scratch).index;
}

}  // namespace servecast::kernels::SERVECAST_DEVICE
