#include "traces/lengths.hpp"

#include <algorithm>
#include <boost/random/normal_distribution.hpp>
#include <boost/random/uniform_01.hpp>
#include <boost/random/uniform_int_distribution.hpp>
#include <cmath>

#include "traces/numbers.hpp"

namespace servecast {
namespace {

constexpr double kNormal90 = 1.2815515655446004;  // the standard normal's 90th percentile

// Zipf over a range without a table, by rejection inversion (Hörmann and Derflinger, ACM TOMACS 6(3), 1996).
// The hat is the integral of x^−s around each whole number; its inverse maps a uniform draw to a candidate.
// Everything is in units of `min`, so that a steep exponent far from 1 loses no digits.
class Zipf {
 public:
  explicit Zipf(const ZipfLength& spec)
      : spec_(spec),
        s_(spec.exponent),
        unit_(static_cast<double>(spec.min)),
        area_begin_(area_below(spec.min) - 1 / unit_),
        area_end_(area_below(spec.max)) {}

  std::int64_t operator()(RandomStream& stream) {
    while (true) {
      const double area = area_end_ + uniform_(stream) * (area_begin_ - area_end_);
      const double x = std::clamp(unit_ * inverse(area), unit_, static_cast<double>(spec_.max));
      const std::int64_t k = std::llround(x);
      const double weight = std::exp(-s_ * std::log(static_cast<double>(k) / unit_)) / unit_;
      if (area >= area_below(k) - weight) return k;
    }
  }

 private:
  // ∫ y^−s dy from 1 to y = (k + ½)/min, which is log y where s = 1; expm1 keeps it exact near there.
  double area_below(std::int64_t k) const {
    const double log_y = std::log((static_cast<double>(k) + 0.5) / unit_);
    const double t = (1 - s_) * log_y;
    return std::abs(t) < 1e-12 ? log_y : std::expm1(t) / t * log_y;
  }
  // The y under which that area lies.
  double inverse(double area) const {
    const double t = area * (1 - s_);
    if (std::abs(t) < 1e-12) return std::exp(area);
    return std::exp(std::log1p(std::max(t, -1.0)) / t * area);
  }

  ZipfLength spec_;
  double s_;
  double unit_;
  double area_begin_;
  double area_end_;
  boost::random::uniform_01<double> uniform_;
};

struct MakeDraw {
  using Draw = std::function<std::int64_t(RandomStream&)>;
  Draw operator()(const FixedLength& spec) const {
    return [tokens = spec.tokens](RandomStream&) { return tokens; };
  }
  Draw operator()(const UniformLength& spec) const {
    return boost::random::uniform_int_distribution<std::int64_t>(spec.min, spec.max);
  }
  Draw operator()(const ZipfLength& spec) const { return Zipf(spec); }
  Draw operator()(const LogNormalLength& spec) const {
    const double sigma = spec.mean ? *spec.sigma : std::log(*spec.p90 / *spec.median) / kNormal90;
    const double mu = spec.mean ? std::log(*spec.mean) - 0.5 * sigma * sigma : std::log(*spec.median);
    return [normal = boost::random::normal_distribution<double>(mu, sigma)](RandomStream& stream) mutable {
      const double length = std::exp(normal(stream));
      return std::max<std::int64_t>(1, std::llround(std::min(length, static_cast<double>(kMaxTokensPerLength))));
    };
  }
};

struct Check {
  const std::string& name;

  void require(bool holds, const char* field, const char* problem, const char* hint) const {
    if (!holds) refuse(name + "." + field, problem, hint);
  }
  void check_tokens(std::int64_t tokens, const char* field) const {
    require(tokens >= 1 && tokens <= kMaxTokensPerLength, field, "is out of range", "expected 1 to 2147483647 tokens");
  }
  void operator()(const FixedLength& spec) const { check_tokens(spec.tokens, "fixed"); }
  void operator()(const UniformLength& spec) const {
    check_tokens(spec.min, "uniform.min");
    check_tokens(spec.max, "uniform.max");
    require(spec.min <= spec.max, "uniform", "min is above max", "expected min <= max");
  }
  void operator()(const ZipfLength& spec) const {
    check_tokens(spec.min, "zipf.min");
    check_tokens(spec.max, "zipf.max");
    require(spec.min <= spec.max, "zipf", "min is above max", "expected min <= max");
    require(spec.exponent > 0 && spec.exponent <= 20, "zipf.exponent", "is out of range", "expected above 0, to 20");
  }
  void operator()(const LogNormalLength& spec) const {
    const bool by_mean = spec.mean && spec.sigma && !spec.median && !spec.p90;
    const bool by_median = spec.median && spec.p90 && !spec.mean && !spec.sigma;
    require(by_mean || by_median, "lognormal", "is not determined", "expected mean and sigma, or median and p90");
    const double middle = by_mean ? *spec.mean : *spec.median;
    require(middle > 0 && middle <= static_cast<double>(kMaxTokensPerLength), "lognormal", "is out of range",
            "expected a mean or median from 1 to 2147483647 tokens");
    if (by_mean) {
      require(*spec.sigma >= 0 && *spec.sigma <= 10, "lognormal.sigma", "is out of range", "expected 0 to 10");
    } else {
      require(*spec.p90 >= middle && std::isfinite(*spec.p90), "lognormal.p90", "is below the median",
              "expected median <= p90");
    }
  }
};

struct Describe {
  std::string operator()(const FixedLength& spec) const { return "fixed " + std::to_string(spec.tokens); }
  std::string operator()(const UniformLength& spec) const {
    return "uniform " + std::to_string(spec.min) + " to " + std::to_string(spec.max);
  }
  std::string operator()(const ZipfLength& spec) const {
    return "zipf " + std::to_string(spec.min) + " to " + std::to_string(spec.max) + ", exponent " +
           format_number(spec.exponent);
  }
  std::string operator()(const LogNormalLength& spec) const {
    if (spec.mean)
      return "lognormal, mean " + format_number(*spec.mean) + ", sigma " + format_number(spec.sigma.value_or(0));
    return "lognormal, median " + format_number(spec.median.value_or(0)) + ", p90 " +
           format_number(spec.p90.value_or(0));
  }
};

}  // namespace

void check(const LengthSpec& spec, const std::string& name) {
  const Check check{name};
  check.check_tokens(spec.at_least, "at_least");
  check.check_tokens(spec.at_most, "at_most");
  check.require(spec.at_least <= spec.at_most, "at_least", "is above at_most", "expected at_least <= at_most");
  std::visit(check, spec.shape);
}

std::string describe(const LengthSpec& spec) {
  std::string text = std::visit(Describe{}, spec.shape);
  if (spec.at_least != 1) text += ", at least " + std::to_string(spec.at_least);
  if (spec.at_most != kMaxTokensPerLength) text += ", at most " + std::to_string(spec.at_most);
  return text;
}

LengthSampler::LengthSampler(const LengthSpec& spec, RandomStream stream, const std::string& name)
    : at_least_(spec.at_least), at_most_(spec.at_most), stream_(stream) {
  check(spec, name);
  draw_ = std::visit(MakeDraw{}, spec.shape);
}

Tokens LengthSampler::next() { return Tokens{std::clamp(draw_(stream_), at_least_, at_most_)}; }

}  // namespace servecast
