// Which experts a token goes to, and the order of rows that puts each expert's tokens together.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/cuda/common/reduce.cuh"
#include "kernels/cuda/common/vectors.cuh"

namespace servecast::kernels::SERVECAST_DEVICE {

inline constexpr int kExpertsPerLane = 16;  // 512 experts at most
inline constexpr int kRouteThreads = 256;

struct Routing {
  const float* logits;
  float* weights;
  std::int32_t* choices;
  std::int32_t* offsets;
  std::int32_t* gather;
  std::int32_t* positions;
  int tokens;
  int experts;
  int chosen;
  bool renormalise;
};

struct Candidate {
  float logit;
  int expert;

  // Larger logits come first, of equal ones the lower index.
  __device__ __forceinline__ bool before(const Candidate& other) const {
    return logit > other.logit || (logit == other.logit && expert < other.expert);
  }
};

__device__ __forceinline__ Candidate first_of_warp(Candidate best) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    const Candidate other{__shfl_xor_sync(kAllLanes, best.logit, distance),
                          __shfl_xor_sync(kAllLanes, best.expert, distance)};
    if (other.before(best)) best = other;
  }
  return best;
}

// One warp a token; lane l holds the experts l, l + 32, … A NaN among its logits makes all weights of a token NaN.
__global__ void __launch_bounds__(kRouteThreads) choose_experts_kernel(Routing routing) {
  const std::int64_t token = static_cast<std::int64_t>(blockIdx.x) * warp_count() + warp_index();
  if (token >= routing.tokens) return;  // the whole warp
  const float* logits = routing.logits + token * routing.experts;
  float mine[kExpertsPerLane];
  float largest = -INFINITY;
#pragma unroll
  for (int i = 0; i < kExpertsPerLane; ++i) {
    const int expert = i * 32 + lane_index();
    mine[i] = expert < routing.experts ? logits[expert] : -INFINITY;
    largest = fmaxf(largest, mine[i]);
  }
  largest = warp_reduce(largest, Larger{});
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kExpertsPerLane; ++i) {
    sum += expf(mine[i] - largest);
    mine[i] = fmaxf(mine[i], -INFINITY);  // NaN ranks with −∞, so that every choice is an expert
  }
  sum = warp_reduce(sum, Plus{});

  unsigned taken = 0;  // bit i: this lane's expert i is chosen already
  float weight = 0;    // lane j keeps choice j
  int choice = 0;
  for (int j = 0; j < routing.chosen; ++j) {
    Candidate best{-INFINITY, routing.experts};
#pragma unroll
    for (int i = 0; i < kExpertsPerLane; ++i) {
      const Candidate candidate{mine[i], i * 32 + lane_index()};
      if ((taken >> i & 1U) == 0 && candidate.before(best)) best = candidate;
    }
    best = first_of_warp(best);
    if (best.expert % 32 == lane_index()) taken |= 1U << (best.expert / 32);
    if (lane_index() == j) {
      weight = expf(best.logit - largest) / sum;
      choice = best.expert;
    }
  }
  if (routing.renormalise) weight = weight / warp_reduce(weight, Plus{});
  if (lane_index() < routing.chosen) {
    routing.weights[token * routing.chosen + lane_index()] = weight;
    routing.choices[token * routing.chosen + lane_index()] = choice;
  }
}

// One block an expert, which finds by itself where its rows begin: it counts the pairs of (token, choice) that chose
// an expert before it. Each warp then numbers the pairs of its share, in order; no launch depends on chance.
__global__ void __launch_bounds__(kRouteThreads) sort_by_expert_kernel(Routing routing) {
  __shared__ std::int32_t scratch[kMaxWarps];
  __shared__ std::int32_t before_warp[kMaxWarps];
  const int expert = static_cast<int>(blockIdx.x);
  const std::int64_t pairs = static_cast<std::int64_t>(routing.tokens) * routing.chosen;
  const std::int64_t share = (pairs + thread_count() - 1) / thread_count() * 32;
  const std::int64_t begin = warp_index() * share;
  const std::int64_t end = begin + share < pairs ? begin + share : pairs;
  int earlier = 0;
  int own = 0;
  for (std::int64_t pair = begin + lane_index(); pair < end; pair += 32) {
    const int choice = routing.choices[pair];
    earlier += choice < expert ? 1 : 0;
    own += choice == expert ? 1 : 0;
  }
  const int offset = block_reduce(earlier, 0, Plus{}, scratch);
  own = warp_reduce(own, Plus{});
  if (lane_index() == 0) before_warp[warp_index()] = own;
  __syncthreads();
  int next = offset;
  for (int warp = 0; warp < warp_index(); ++warp) next += before_warp[warp];
  for (std::int64_t tile = begin; tile < end; tile += 32) {
    const std::int64_t pair = tile + lane_index();
    const bool mine = pair < end && routing.choices[pair] == expert;
    const unsigned all = __ballot_sync(kAllLanes, mine);
    if (mine) {
      const int row = next + __popc(all & ((1U << lane_index()) - 1U));
      routing.gather[row] = static_cast<std::int32_t>(pair / routing.chosen);
      routing.positions[pair] = row;
    }
    next += __popc(all);
  }
  if (thread_index() == 0) routing.offsets[expert] = offset;
  if (thread_index() == 0 && expert == 0) routing.offsets[routing.experts] = static_cast<std::int32_t>(pairs);
}

}  // namespace servecast::kernels::SERVECAST_DEVICE
