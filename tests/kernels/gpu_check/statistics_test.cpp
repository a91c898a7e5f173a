#include "kernels/gpu_check/statistics.hpp"

#include <doctest/doctest.h>
#include <vector>

namespace servecast::kernels::gpu_check {
namespace {

TEST_CASE("a summary has median, least and noise, and one outlier moves none of them") {
  const Summary summary = summarise(std::vector<double>{4, 1, 3, 2, 100});
  CHECK(summary.median_s == 3);
  CHECK(summary.min_s == 1);
  CHECK(summary.noise == doctest::Approx(1.0 / 3));  // deviations 1, 2, 0, 1, 97: their median over 3
  CHECK(summary.samples == 5);
  CHECK(median(std::vector<double>{1, 2, 4, 8}) == 3);
}

TEST_CASE("a quiet point is done after the first replays, a noisy one after as many more as are allowed once") {
  std::vector<double> seconds;
  CHECK(replays_wanted(seconds) == kFirstReplays);
  seconds.assign(kFirstReplays, 1.0);
  CHECK(replays_wanted(seconds) == 0);
  seconds = {1, 1.05, 1.1, 1.15, 0.95, 0.9, 0.85};  // deviations of 0 … 0.15, their median 0.1
  CHECK(replays_wanted(seconds) == kMoreReplays);
  seconds.resize(kFirstReplays + kMoreReplays, 3.0);
  CHECK(replays_wanted(seconds) == 0);
}

TEST_CASE("a graph lasts milliseconds: many short calls, one long one") {
  CHECK(calls_of(0) == kMostCalls);
  CHECK(calls_of(1e-6) == kMostCalls);
  CHECK(calls_of(300e-6) == 10);
  CHECK(calls_of(0.5) == 1);
}

TEST_CASE("operands rotate through more than five times the L2, as far as calls and memory go") {
  constexpr std::int64_t kMega = 1'000'000;
  CHECK(buffer_sets(100 * kMega, 50 * kMega, 100'000 * kMega, 50) == 3);  // 300 > 250
  CHECK(buffer_sets(kMega, 50 * kMega, 100'000 * kMega, 20) == 20);
  CHECK(buffer_sets(100 * kMega, 50 * kMega, 250 * kMega, 50) == 2);
  CHECK(buffer_sets(1000 * kMega, 50 * kMega, 500 * kMega, 50) == 1);
  CHECK(buffer_sets(0, 0, 0, 50) == 1);
}

TEST_CASE("the sentinel is due at once and then every interval, and tells the largest drift") {
  Sentinel sentinel;
  CHECK(sentinel.due(0));
  sentinel.measured(0, 1.0);
  CHECK_FALSE(sentinel.due(Sentinel::kIntervalSeconds - 1));
  CHECK(sentinel.due(Sentinel::kIntervalSeconds));
  sentinel.measured(20, 1.02);
  CHECK(sentinel.steady());
  sentinel.measured(40, 0.9);
  sentinel.measured(60, 1.0);
  CHECK(sentinel.drift() == doctest::Approx(0.1));
  CHECK_FALSE(sentinel.steady());
}

}  // namespace
}  // namespace servecast::kernels::gpu_check
