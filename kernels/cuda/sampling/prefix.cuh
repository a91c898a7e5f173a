// The shortest prefix of a row, by falling logit and then by rising index, whose weights reach a target. Found without
// sorting: a radix search over the bits of the logits narrows down the last one that belongs to it.
#pragma once

#include <cstdint>

#include "kernels/cuda/sampling/row.cuh"

namespace servecast::kernels::SERVECAST_DEVICE {

inline constexpr int kDigitBits = 11;
inline constexpr int kBins = 1 << kDigitBits;
inline constexpr int kKeyBits = 32;

// Unsigned numbers in the order of the floats; both zeros are one number, as they are one value.
__device__ __forceinline__ std::uint32_t ordered(float x) {
  const std::uint32_t bits = __float_as_uint(x == 0.0F ? 0.0F : x);
  return (bits & 0x80000000U) != 0 ? ~bits : bits | 0x80000000U;
}

// The tokens kept: keys above `key`, and at `key` the indices up to `last`.
struct Prefix {
  std::uint32_t key = 0;
  int last = 0x7fffffff;

  __device__ __forceinline__ bool has(std::uint32_t other, int index) const {
    return other > key || (other == key && index <= last);
  }
};

// Sums by digit as two words, since shared memory adds words at once; a carry out of the low one is added to the high
// one, and the sum is exact whatever the order.
struct Histogram {
  unsigned low[kBins];
  unsigned high[kBins];

  __device__ void clear() {
    for (int i = thread_index(); i < kBins; i += thread_count()) {
      low[i] = 0;
      high[i] = 0;
    }
    __syncthreads();
  }

  __device__ __forceinline__ void add(std::uint32_t bin, Mass mass) {
    const auto low_part = static_cast<unsigned>(mass);
    const unsigned old = atomicAdd(&low[bin], low_part);
    const unsigned carry = old + low_part < old ? 1U : 0U;
    const unsigned high_part = static_cast<unsigned>(mass >> 32) + carry;
    if (high_part != 0) atomicAdd(&high[bin], high_part);
  }

  [[nodiscard]] __device__ __forceinline__ Mass at(int bin) const {
    return static_cast<Mass>(high[bin]) << 32 | low[bin];
  }
};

struct PrefixScratch {
  RowScratch row;
  Histogram histogram;
};

// `kept` cut down to the shortest prefix whose sum of weight(i) is at least `target`, which is between 1 and the sum
// over `kept`. Weights of equal keys are equal.
template <class Key, class Weight>
__device__ Prefix shorten(int length, const Prefix& kept, Mass target, const Key& key, const Weight& weight,
                          PrefixScratch& scratch) {
  std::uint32_t found = 0;  // the high bits of the last key, as far as they are known
  Mass above = 0;           // the sum over greater keys
  for (int known = 0; known < kKeyBits; known += kDigitBits) {
    const int bits = known + kDigitBits <= kKeyBits ? kDigitBits : kKeyBits - known;
    const int shift = kKeyBits - known - bits;
    scratch.histogram.clear();
#pragma unroll 4
    for (int i = thread_index(); i < length; i += thread_count()) {
      const std::uint32_t k = key(i);
      const bool matches = known == 0 || k >> (shift + bits) == found;
      if (matches && kept.has(k, i)) scratch.histogram.add(k >> shift & ((1U << bits) - 1U), weight(i));
    }
    __syncthreads();
    // From the greatest digit down: reversed, bin j is digit kDigits − 1 − j.
    const int digits = 1 << bits;
    const auto mass_of = [&](int j) { return scratch.histogram.at(digits - 1 - j); };
    sum_row(digits, mass_of, scratch.row);
    const Crossing crossing = find_crossing(digits, target - above - 1, mass_of, scratch.row);
    above += crossing.before;
    found = found << bits | static_cast<std::uint32_t>(digits - 1 - crossing.index);
  }
  // Of the tokens at that key, as many as are still needed, by rising index.
  const auto at_key = [&](int i) { return key(i) == found && kept.has(found, i) ? weight(i) : Mass{0}; };
  sum_row(length, at_key, scratch.row);
  return {found, find_crossing(length, target - above - 1, at_key, scratch.row).index};
}

}  // namespace servecast::kernels::SERVECAST_DEVICE
