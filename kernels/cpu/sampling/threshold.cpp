#include "kernels/cpu/sampling/threshold.hpp"

#include <array>
#include <cmath>

namespace servecast::kernels::cpu {
namespace {

constexpr int kDigitBits = 8;
constexpr std::size_t kDigits = std::size_t{1} << kDigitBits;

struct Digit {
  std::int64_t count = 0;
  double weight = 0;
};

// The key at which the sum of `measure` over what `within` lets through, from the largest key down, reaches `goal`;
// and how many of those equal to it that takes.
template <class Measure>
Threshold cut(const float* logits, std::int64_t count, const Threshold& within, double goal, Measure&& measure) {
  std::uint32_t prefix = 0;
  double above = 0;
  std::array<Digit, kDigits> digits;
  std::size_t digit = 0;
  for (int shift = 32 - kDigitBits; shift >= 0; shift -= kDigitBits) {
    digits.fill({});
    for_each_kept(logits, count, within, [&](std::int64_t, float logit) {
      const std::uint32_t key = order_of(logit);
      if ((std::uint64_t{key} >> (shift + kDigitBits)) != prefix) return true;
      Digit& at = digits[(key >> shift) % kDigits];
      ++at.count;
      at.weight += measure(logit);
      return true;
    });
    // Where rounding leaves the goal unreached, the lowest digit with anything in it.
    std::size_t reached = kDigits;
    for (digit = kDigits; digit-- > 0;) {
      if (digits[digit].count == 0) continue;
      if (reached != kDigits) above += digits[reached].weight;
      reached = digit;
      if (above + digits[digit].weight >= goal) break;
    }
    digit = reached;
    prefix = (prefix << kDigitBits) | static_cast<std::uint32_t>(digit);
  }
  const double each = digits[digit].weight / static_cast<double>(digits[digit].count);
  std::int64_t ties = 1;
  while (ties < digits[digit].count && above + each * static_cast<double>(ties) < goal) ++ties;
  return {prefix, ties};
}

}  // namespace

double Weighing::operator()(float logit) const { return std::exp((logit - largest) / temperature); }

Threshold kept_of(const Sample& op, const float* logits, const Weighing& weight) {
  Threshold kept;
  if (op.top_k > 0) kept = cut(logits, op.vocabulary, kept, op.top_k, [](float) { return 1.0; });
  if (op.top_p < 1) {
    double sum = 0;
    for_each_kept(logits, op.vocabulary, kept, [&](std::int64_t, float logit) {
      sum += weight(logit);
      return true;
    });
    kept = cut(logits, op.vocabulary, kept, op.top_p * sum, weight);
  }
  return kept;
}

}  // namespace servecast::kernels::cpu
