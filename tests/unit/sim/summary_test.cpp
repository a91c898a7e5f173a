#include "sim/summary.hpp"

#include <cmath>
#include <doctest/doctest.h>

#include "sim/log_histogram.hpp"
#include "sim/random.hpp"

using namespace servecast;

TEST_CASE("percentiles interpolate linearly between order statistics") {
  std::vector<double> values{4, 1, 3, 2};
  const Distribution d = distribution(values);
  CHECK(d.count == 4);
  CHECK(d.mean_s == doctest::Approx(2.5));
  CHECK(d.p50_s == doctest::Approx(2.5));   // rank 1.5
  CHECK(d.p90_s == doctest::Approx(3.7));   // rank 2.7
  CHECK(d.p99_s == doctest::Approx(3.97));  // rank 2.97
  CHECK(d.max_s == 4);
  CHECK(d.thin(0.99));
}

TEST_CASE("percentiles agree with a full sort on random values") {
  RandomStream random = stream(2, "percentiles");
  for (const std::size_t n : {1U, 2U, 3U, 10U, 101U, 5000U}) {
    std::vector<double> values(n);
    for (double& v : values) v = static_cast<double>(random() % 1000);
    std::vector<double> sorted = values;
    std::sort(sorted.begin(), sorted.end());
    const auto expected = [&](double q) {
      const double rank = q * static_cast<double>(n - 1);
      const auto low = static_cast<std::size_t>(rank);
      const std::size_t high = std::min(low + 1, n - 1);
      return sorted[low] + (rank - static_cast<double>(low)) * (sorted[high] - sorted[low]);
    };
    const Distribution d = distribution(values);
    CHECK(d.p50_s == doctest::Approx(expected(0.50)));
    CHECK(d.p90_s == doctest::Approx(expected(0.90)));
    CHECK(d.p95_s == doctest::Approx(expected(0.95)));
    CHECK(d.p99_s == doctest::Approx(expected(0.99)));
    CHECK(d.max_s == sorted.back());
  }
}

TEST_CASE("the gap histogram is within half a percent, its maximum exact") {
  RandomStream random = stream(3, "histogram");
  LogHistogram histogram;
  std::vector<std::int64_t> all;
  for (int i = 0; i < 20'000; ++i) {
    const auto value = static_cast<std::int64_t>(std::exp(static_cast<double>(random() % 20'000) / 1000.0)) + 1;
    histogram.add(Duration{value}, 1 + i % 3);
    for (int k = 0; k < 1 + i % 3; ++k) all.push_back(value);
  }
  std::sort(all.begin(), all.end());
  CHECK(histogram.total() == static_cast<std::int64_t>(all.size()));
  CHECK(histogram.maximum() == Duration{all.back()});
  for (const double q : {0.01, 0.25, 0.5, 0.9, 0.99, 1.0}) {
    const auto rank = static_cast<std::size_t>(std::ceil(q * static_cast<double>(all.size())));
    const double exact = static_cast<double>(all[rank - 1]) * 1e-9;
    CHECK(std::abs(histogram.quantile_seconds(q) / exact - 1) < 0.005);
  }
}

TEST_CASE("an empty histogram has no mean and no total") {
  const LogHistogram histogram;
  CHECK(histogram.total() == 0);
  CHECK(histogram.mean_seconds() == 0);
}

namespace {

Arrival arrival(double at_s) { return {kStart + from_seconds(at_s), Tokens{10}, Tokens{3}, Tokens{3}}; }

void complete(Request& r, double first_s, double last_s) {
  r.outcome = Outcome::kCompleted;
  r.first_token_at = kStart + from_seconds(first_s);
  r.last_token_at = kStart + from_seconds(last_s);
}

}  // namespace

TEST_CASE("attainment divides by the offered: rejected and open requests are misses") {
  RequestTable table;
  complete(table.add(arrival(0)), 0.1, 0.3);
  complete(table.add(arrival(1)), 2.0, 2.2);  // its first token is late
  table.add(arrival(2)).outcome = Outcome::kRejected;
  table.add(arrival(4));  // still open
  SummaryOptions options;
  options.slo.ttft_s = 0.5;
  options.slo.tpot_s = 0.15;
  RunResult result;
  result.ended_at = kStart + from_seconds(5);
  const Summary s = summarise(table, result, options);
  CHECK(s.offered == 4);
  CHECK(s.completed == 2);
  CHECK(s.open == 1);
  CHECK(s.rejected == 1);
  CHECK(s.met_slo == 1);
  CHECK(s.attainment == doctest::Approx(0.25));
  CHECK(s.goodput == doctest::Approx(1.0 / 4.0));  // per second of the window of arrivals
  CHECK(s.offered_rate == doctest::Approx(3.0 / 4.0));
}

TEST_CASE("a request of one token has no TPOT and meets any") {
  RequestTable table;
  Request& one = table.add({kStart, Tokens{5}, Tokens{1}, Tokens{1}});
  complete(one, 0.1, 0.1);
  SummaryOptions options;
  options.slo.tpot_s = 1e-6;
  const Summary s = summarise(table, RunResult{}, options);
  CHECK(s.tpot.count == 0);
  CHECK(s.met_slo == 1);
}

TEST_CASE("a warm-up and a cool-down leave requests out, and say how many") {
  RequestTable table;
  for (int i = 0; i < 10; ++i) complete(table.add(arrival(i)), i + 0.1 * (i + 1), i + 0.1 * (i + 1) + 0.2);
  SummaryOptions options;
  options.warm_up = from_seconds(2);
  options.cool_down = from_seconds(3);
  const Summary s = summarise(table, RunResult{}, options);
  CHECK(s.offered == 5);  // those at 2, 3, 4, 5, 6
  CHECK(s.outside == 5);
  CHECK(s.ttft.mean_s == doctest::Approx(0.5));
}
