// The next token of each row of logits, one block a row.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/cuda/common/numbers.hpp"
#include "kernels/cuda/sampling/prefix.cuh"

namespace servecast::kernels::SERVECAST_DEVICE {

// The largest logit's mass, 2^44: a row of 2^19 such still has an exact sum of 64 bits.
inline constexpr float kLargestMass = 17592186044416.0F;

struct SampleRows {
  const float* uniforms;
  std::int32_t* tokens;
  int vocabulary;
  int top_k;  // 0: all
  float top_p;
  float temperature;
};

// Key and index as one number: the greater key first, of equal ones the lower index.
__device__ __forceinline__ Mass ranked(std::uint32_t key, int index) {
  return static_cast<Mass>(key) << 32 | static_cast<std::uint32_t>(~index);
}

// Where the row's largest logit stands.
template <class Key>
__device__ int largest_of_row(int length, const Key& key, RowScratch& scratch) {
  Mass best = 0;
#pragma unroll 8
  for (int i = thread_index(); i < length; i += thread_count()) best = Larger{}(best, ranked(key(i), i));
  return ~static_cast<int>(static_cast<std::uint32_t>(block_reduce(best, Mass{0}, Larger{}, scratch.sums)));
}

template <class T>
__global__ void __launch_bounds__(kRowThreads) sample_kernel(const T* logits, SampleRows rows) {
  __shared__ PrefixScratch scratch;
  const int length = rows.vocabulary;
  const T* row = logits + static_cast<std::int64_t>(blockIdx.x) * length;
  const auto logit = [&](int i) { return to_float(__ldg(row + i)); };
  const auto key = [&](int i) { return ordered(logit(i)); };
  const int largest = largest_of_row(length, key, scratch.row);
  const float top = logit(largest);
  // Beside an infinite logit there are no ratios: the largest is taken.
  if (rows.temperature == 0.0F || !(fabsf(top) < INFINITY)) {
    if (thread_index() == 0) rows.tokens[blockIdx.x] = largest;
    return;  // the whole block
  }
  const float scale = kLog2E / rows.temperature;
  const auto mass = [&](int i) { return static_cast<Mass>(exp2f((logit(i) - top) * scale) * kLargestMass); };
  Prefix kept;
  if (rows.top_k > 0 && rows.top_k < length) {
    kept = shorten(
        length, kept, static_cast<Mass>(rows.top_k), key, [](int) { return Mass{1}; }, scratch);
  }
  const auto kept_mass = [&](int i) { return kept.has(key(i), i) ? mass(i) : Mass{0}; };
  if (rows.top_p < 1.0F) {
    const Mass total = sum_row(length, kept_mass, scratch.row);
    const Mass target = portion(rows.top_p, total);
    kept = shorten(length, kept, target > 0 ? target : Mass{1}, key, mass, scratch);
  }
  const int token = draw(length, rows.uniforms[blockIdx.x], kept_mass, scratch.row);
  if (thread_index() == 0) rows.tokens[blockIdx.x] = token;
}

}  // namespace servecast::kernels::SERVECAST_DEVICE
