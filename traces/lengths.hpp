// How long prompts and answers are.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>

#include "sim/random.hpp"
#include "sim/units.hpp"
#include "traces/trace.hpp"

namespace servecast {

struct FixedLength {
  std::int64_t tokens = 0;
};
// Each whole number from `min` to `max` equally likely.
struct UniformLength {
  std::int64_t min = 1;
  std::int64_t max = 1;
};
// P(k) ∝ k^−exponent for whole k from `min` to `max`; the exponent is positive.
struct ZipfLength {
  std::int64_t min = 1;
  std::int64_t max = 1;
  double exponent = 1;
};
// Rounded to whole tokens, at least 1. Either the mean (of the distribution itself) and sigma (of its
// logarithm), or the median and the 90th percentile.
struct LogNormalLength {
  std::optional<double> mean;
  std::optional<double> sigma;
  std::optional<double> median;
  std::optional<double> p90;
};

using LengthShape = std::variant<FixedLength, UniformLength, ZipfLength, LogNormalLength>;

// A shape cut to [at_least, at_most]: what lies outside is moved to the bound.
struct LengthSpec {
  LengthShape shape;
  std::int64_t at_least = 1;
  std::int64_t at_most = kMaxTokensPerLength;
};

// Throws InputError with the field ("lognormal.sigma", …) that is out of range; `name` goes before it.
void check(const LengthSpec& spec, const std::string& name);

// "lognormal, median 1020, p90 2734"
[[nodiscard]] std::string describe(const LengthSpec& spec);

// Draws lengths of one distribution. Throws InputError as `check` does.
class LengthSampler {
 public:
  LengthSampler(const LengthSpec& spec, RandomStream stream, const std::string& name);
  [[nodiscard]] Tokens next();

 private:
  std::function<std::int64_t(RandomStream&)> draw_;
  std::int64_t at_least_;
  std::int64_t at_most_;
  RandomStream stream_;
};

}  // namespace servecast
