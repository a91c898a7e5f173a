#include "traces/lengths.hpp"

#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>
#include <map>
#include <vector>

#include "tests/unit/traces/support.hpp"

using namespace servecast;

namespace {

std::vector<std::int64_t> draw(const LengthSpec& spec, std::size_t count) {
  LengthSampler sampler(spec, stream(1, "lengths.prompt"), "prompt");
  std::vector<std::int64_t> lengths(count);
  for (std::int64_t& length : lengths) length = sampler.next().count();
  return lengths;
}

double mean(const std::vector<std::int64_t>& values) {
  double sum = 0;
  for (const std::int64_t value : values) sum += static_cast<double>(value);
  return sum / static_cast<double>(values.size());
}

std::int64_t quantile(std::vector<std::int64_t> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1))];
}

std::string spec_error(const LengthSpec& spec) {
  return message_of([&] { check(spec, "prompt"); });
}

// P(k) ∝ k^−s over the whole range against the counts of n draws: χ² per degree of freedom near 1.
void check_zipf(const ZipfLength& spec) {
  constexpr std::size_t kCount = 200'000;
  std::map<std::int64_t, double> seen;
  for (const std::int64_t length : draw({.shape = spec}, kCount)) ++seen[length];
  double total = 0;
  for (std::int64_t k = spec.min; k <= spec.max; ++k) total += std::pow(static_cast<double>(k), -spec.exponent);
  double chi_squared = 0;
  double cells = 0;
  for (std::int64_t k = spec.min; k <= spec.max; ++k) {
    const double expected = std::pow(static_cast<double>(k), -spec.exponent) / total * static_cast<double>(kCount);
    if (expected < 10) continue;
    chi_squared += (seen[k] - expected) * (seen[k] - expected) / expected;
    ++cells;
  }
  REQUIRE(cells > 1);
  // Mean 1, standard deviation sqrt(2/cells).
  CHECK(chi_squared / cells < 1 + 4.5 * std::sqrt(2 / cells));
}

}  // namespace

TEST_CASE("fixed and uniform lengths are what they say") {
  CHECK(draw({.shape = FixedLength{128}}, 3) == std::vector<std::int64_t>{128, 128, 128});
  const std::vector<std::int64_t> uniform = draw({.shape = UniformLength{10, 20}}, 100'000);
  CHECK(*std::min_element(uniform.begin(), uniform.end()) == 10);
  CHECK(*std::max_element(uniform.begin(), uniform.end()) == 20);
  CHECK(mean(uniform) == doctest::Approx(15).epsilon(0.005));
}

TEST_CASE("zipf lengths follow their power law, wherever the range starts and however steep it is") {
  check_zipf({1, 100, 1.0});
  check_zipf({1, 100, 0.5});
  check_zipf({1, 100, 2.5});
  check_zipf({50, 90, 1.2});
  check_zipf({1000, 1400, 18});
  CHECK(draw({.shape = ZipfLength{7, 7, 1}}, 2) == std::vector<std::int64_t>{7, 7});
}

TEST_CASE("lognormal lengths have the mean, or the median and p90, asked for") {
  const std::vector<std::int64_t> by_mean = draw({.shape = LogNormalLength{1000, 0.5, {}, {}}}, 200'000);
  CHECK(mean(by_mean) == doctest::Approx(1000).epsilon(0.006));
  const std::vector<std::int64_t> by_median = draw({.shape = LogNormalLength{{}, {}, 1020, 2734}}, 200'000);
  CHECK(quantile(by_median, 0.5) == doctest::Approx(1020).epsilon(0.02));
  CHECK(quantile(by_median, 0.9) == doctest::Approx(2734).epsilon(0.02));
}

TEST_CASE("lengths outside the stated bounds move to the bound") {
  const std::vector<std::int64_t> cut =
      draw({.shape = LogNormalLength{1000, 2, {}, {}}, .at_least = 100, .at_most = 4096}, 10'000);
  CHECK(*std::min_element(cut.begin(), cut.end()) == 100);
  CHECK(*std::max_element(cut.begin(), cut.end()) == 4096);
}

TEST_CASE("a length out of range is refused by field") {
  CHECK(spec_error({.shape = FixedLength{0}}) == "prompt.fixed: is out of range; expected 1 to 2147483647 tokens");
  CHECK(spec_error({.shape = UniformLength{5, 4}}).starts_with("prompt.uniform: min is above max"));
  CHECK(spec_error({.shape = ZipfLength{1, 10, 0}}).starts_with("prompt.zipf.exponent: "));
  CHECK(spec_error({.shape = LogNormalLength{}}) ==
        "prompt.lognormal: is not determined; expected mean and sigma, or median and p90");
  CHECK(spec_error({.shape = LogNormalLength{10, {}, 20, {}}}).starts_with("prompt.lognormal: is not determined"));
  CHECK(spec_error({.shape = LogNormalLength{{}, {}, 20, 10}}).starts_with("prompt.lognormal.p90: "));
  CHECK(spec_error({.shape = FixedLength{1}, .at_least = 9, .at_most = 8}).starts_with("prompt.at_least: "));
  CHECK(spec_error({.shape = FixedLength{1'000'000'000'000'000'000}}).starts_with("prompt.fixed: "));
}

TEST_CASE("a length says what it is") {
  CHECK(describe({.shape = LogNormalLength{{}, {}, 1020, 2734.5}, .at_most = 4096}) ==
        "lognormal, median 1020, p90 2734.5, at most 4096");
}
