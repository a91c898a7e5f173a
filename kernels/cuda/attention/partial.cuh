// What a split of the keys leaves behind, and the launch that brings the splits of a row together.
#pragma once

#include <cstdint>

#include "kernels/cuda/attention/paged_kv.cuh"
#include "kernels/cuda/attention/softmax.cuh"

namespace servecast::kernels::SERVECAST_DEVICE {

// The workspace: [rows][splits][width] sums of values, then for each its largest score, in base 2, and the sum of its
// exponentials. A split that saw no key has −∞, 0 and zeros.
struct Partials {
  float* sums;
  float2* softmax;
  int splits;
};

inline Partials partials_of(float* workspace, std::int64_t rows, int splits, int width) {
  return {workspace, reinterpret_cast<float2*>(workspace + rows * splits * width), splits};
}

// This split's share of the keys, in whole tiles; none for the last splits of a short sequence.
__device__ __forceinline__ KeyRange split_keys(KeyRange range, int keys_per_tile, int split, int splits) {
  const int first_tile = range.first / keys_per_tile;
  const int tiles = (range.last + keys_per_tile - 1) / keys_per_tile - first_tile;
  const int share = (tiles + splits - 1) / splits;
  const int first = (first_tile + split * share) * keys_per_tile;
  if (first >= range.last) return {0, 0};
  return {max(first, range.first), min(first + share * keys_per_tile, range.last)};
}

// One row a block, two of its elements a thread.
template <class Element>
__global__ void combine_splits_kernel(Partials partials, Element* out) {
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * partials.splits;
  const int width = 2 * thread_count();
  float largest = -INFINITY;
  for (int i = 0; i < partials.splits; ++i) largest = fmaxf(largest, partials.softmax[first + i].x);
  float total = 0;
  float2 sum = make_float2(0, 0);
#pragma unroll 4
  for (int i = 0; i < partials.splits; ++i) {
    const float2 softmax = partials.softmax[first + i];
    const float factor = fast_exp2(softmax.x - largest);
    const float2 part = *reinterpret_cast<const float2*>(partials.sums + (first + i) * width + 2 * thread_index());
    total += factor * softmax.y;
    sum.x += factor * part.x;
    sum.y += factor * part.y;
  }
  auto* to = reinterpret_cast<std::uint32_t*>(out + static_cast<std::int64_t>(blockIdx.x) * width);
  to[thread_index()] = pack2<Element>(sum.x / total, sum.y / total);
}

template <class Element>
Status combine_splits(const Partials& partials, Element* out, std::int64_t rows, int width, DeviceStream stream) {
  const Grid grid{dim3(static_cast<unsigned>(rows)), dim3(static_cast<unsigned>(width / 2)), 0, stream};
  return launch(combine_splits_kernel<Element>, grid, partials, out);
}

}  // namespace servecast::kernels::SERVECAST_DEVICE
