#include <doctest/doctest.h>
#include <vector>

#include "traces/arrivals.hpp"

using namespace servecast;

namespace {

std::vector<double> instants(const ArrivalSpec& spec, const Trace* trace = nullptr) {
  const auto times = make_arrival_times(spec, stream(1, "arrivals"), trace);
  std::vector<double> result;
  for (int i = 0; i < 50; ++i) {
    const auto at = times->next();
    if (!at) break;
    result.push_back(seconds(*at - kStart));
  }
  return result;
}

}  // namespace

TEST_CASE("a process at twice the rate draws the same instants at half the distance") {
  const std::vector<ArrivalSpec> specs{PoissonArrivals{3}, GammaArrivals{3, 2}, WeibullArrivals{3, 2.0, {}},
                                       UniformArrivals{3}, BurstArrivals{3, 4}};
  for (const ArrivalSpec& spec : specs) {
    CAPTURE(describe(spec));
    REQUIRE(mean_rate(spec) == 3.0);
    const ArrivalSpec faster = at_rate(spec, 6);
    CHECK(mean_rate(faster) == 6.0);
    const std::vector<double> slow = instants(spec), fast = instants(faster);
    for (std::size_t i = 0; i < slow.size(); ++i) CHECK(fast[i] == doctest::Approx(slow[i] / 2).epsilon(1e-6));
  }
}

TEST_CASE("recorded instants are squeezed to a rate, on and off periods keep their length") {
  Trace trace;
  for (int i = 0; i < 5; ++i) trace.add({kStart + std::chrono::seconds{2 * i}, Tokens{1}, Tokens{1}, {}, {}, {}});
  CHECK(mean_rate(ArrivalsAsRecorded{}, &trace) == 0.5);
  CHECK(instants(at_rate(ArrivalsAsRecorded{}, 2, &trace), &trace) == std::vector<double>{0, 0.5, 1, 1.5, 2});

  const OnOffArrivals on_off{10, 3, 1};
  CHECK(mean_rate(on_off) == 7.5);
  CHECK(std::get<OnOffArrivals>(at_rate(on_off, 15)).rate_per_s == 20);
}

TEST_CASE("all at once, closed loops and traces without instants have no rate") {
  CHECK_FALSE(mean_rate(AllAtOnce{}));
  CHECK_FALSE(mean_rate(ClosedLoop{}));
  CHECK_FALSE(mean_rate(ArrivalsAsRecorded{}));
}
