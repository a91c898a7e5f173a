// Which logits of a row sampling keeps, without sorting and without memory of its own: the smallest kept value is
// found digit by digit of the numbers' order.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

#include "kernels/operators/sampling.hpp"

namespace servecast::kernels::cpu {

// Numbers in the order of floats; −0 comes with 0.
inline std::uint32_t order_of(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value + 0.0F);
  return (bits & 0x80000000U) != 0 ? ~bits : bits | 0x80000000U;
}

// Keeps all above `key`, and of those equal to it the first `ties`.
struct Threshold {
  std::uint32_t key = 0;
  std::int64_t ties = std::numeric_limits<std::int64_t>::max();
};

// Calls use(index, logit) for what the threshold lets through, by index, until it returns false.
template <class Use>
void for_each_kept(const float* logits, std::int64_t count, const Threshold& threshold, Use&& use) {
  std::int64_t ties = threshold.ties;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint32_t key = order_of(logits[i]);
    if (key < threshold.key || (key == threshold.key && ties-- <= 0)) continue;
    if (!use(i, logits[i])) return;
  }
}

// The row's weights, e^((logit − largest) / temperature).
struct Weighing {
  double largest = 0;
  double temperature = 1;

  [[nodiscard]] double operator()(float logit) const;
};

// What top-k and then top-p keep of a row.
[[nodiscard]] Threshold kept_of(const Sample& op, const float* logits, const Weighing& weight);

}  // namespace servecast::kernels::cpu
