#include "traces/arrivals.hpp"

#include <cmath>
#include <doctest/doctest.h>
#include <vector>

#include "tests/unit/traces/support.hpp"

using namespace servecast;

namespace {

std::vector<double> gaps(const ArrivalSpec& spec, std::size_t count, std::uint64_t seed = 1) {
  const auto times = make_arrival_times(spec, stream(seed, "arrivals"));
  SimTime before = *times->next();
  CHECK(before == kStart);
  std::vector<double> result;
  for (std::size_t i = 0; i < count; ++i) {
    const SimTime at = *times->next();
    REQUIRE(at >= before);
    result.push_back(seconds(at - before));
    before = at;
  }
  return result;
}

struct Moments {
  double mean = 0;
  double cv = 0;
};

Moments moments(const std::vector<double>& values) {
  double sum = 0;
  double squares = 0;
  for (const double value : values) sum += value;
  const double mean = sum / static_cast<double>(values.size());
  for (const double value : values) squares += (value - mean) * (value - mean);
  return {mean, std::sqrt(squares / static_cast<double>(values.size())) / mean};
}

// The mean of n independent gaps lies within 4.5 standard errors but once in 150,000 runs.
void check_rate_and_cv(const ArrivalSpec& spec, double rate, double cv, double cv_tolerance) {
  constexpr std::size_t kCount = 200'000;
  const Moments seen = moments(gaps(spec, kCount));
  CHECK(std::abs(seen.mean * rate - 1) < 4.5 * cv / std::sqrt(static_cast<double>(kCount)));
  CHECK(seen.cv == doctest::Approx(cv).epsilon(cv_tolerance).scale(0));
}

std::string spec_error(const ArrivalSpec& spec) {
  return message_of([&] { check(spec); });
}

}  // namespace

TEST_CASE("poisson, gamma and weibull arrivals have the rate and the variation asked for") {
  check_rate_and_cv(PoissonArrivals{8}, 8, 1, 0.02);
  check_rate_and_cv(GammaArrivals{8, 0.5}, 8, 0.5, 0.02);
  check_rate_and_cv(GammaArrivals{0.5, 3}, 0.5, 3, 0.05);
  check_rate_and_cv(WeibullArrivals{4, 0.5, {}}, 4, 0.5, 0.02);
  check_rate_and_cv(WeibullArrivals{4, 2.0, {}}, 4, 2, 0.05);
  check_rate_and_cv(WeibullArrivals{4, {}, 1.0}, 4, 1, 0.02);
}

TEST_CASE("a coefficient of variation above 10 is drawn, not refused") {
  const Moments gamma = moments(gaps(GammaArrivals{10, 12}, 200'000));
  CHECK(gamma.mean == doctest::Approx(0.1).epsilon(0.13).scale(0));  // 4.5 standard errors
  CHECK(gamma.cv > 8);
  CHECK(moments(gaps(WeibullArrivals{10, 12.0, {}}, 200'000)).cv > 5);
}

TEST_CASE("the weibull shape is the one whose variation was asked for") {
  CHECK(weibull_shape(1.0) == doctest::Approx(1.0));
  // cv of shape 2 (Rayleigh): sqrt(4/pi - 1); of shape 1/2: sqrt(5).
  CHECK(weibull_shape(0.5227232008770633) == doctest::Approx(2.0));
  CHECK(weibull_shape(std::sqrt(5.0)) == doctest::Approx(0.5));
}

TEST_CASE("uniform arrivals do not drift: the k-th comes at k/rate") {
  const auto times = make_arrival_times(UniformArrivals{3}, stream(1, "arrivals"));
  SimTime last;
  for (int i = 0; i <= 3'000'000; ++i) last = *times->next();
  CHECK(last == SimTime{std::chrono::seconds{1'000'000}});
}

TEST_CASE("bursts come together, at the mean rate") {
  const auto times = make_arrival_times(BurstArrivals{10, 50}, stream(1, "arrivals"));
  for (int burst = 0; burst < 3; ++burst) {
    for (int i = 0; i < 50; ++i) CHECK(*times->next() == SimTime{std::chrono::seconds{5 * burst}});
  }
}

TEST_CASE("on-off arrivals fall into on-periods only, at their rate") {
  const auto times = make_arrival_times(OnOffArrivals{20, 2, 8}, stream(1, "arrivals"));
  SimTime last;
  for (int i = 0; i < 40'000; ++i) {
    last = *times->next();
    REQUIRE((last - kStart) % std::chrono::seconds{10} < std::chrono::seconds{2});
  }
  CHECK(seconds(last) == doctest::Approx(40'000 / 4.0).epsilon(0.03));
}

TEST_CASE("diurnal arrivals follow their sine") {
  const auto times = make_arrival_times(DiurnalArrivals{50, 0.8, 100}, stream(1, "arrivals"));
  int rising = 0;  // the half of the period in which the sine is positive
  int falling = 0;
  SimTime at = kStart;
  while ((at = *times->next()) < SimTime{std::chrono::seconds{2000}}) {
    const bool first_half = (at - kStart) % std::chrono::seconds{100} < std::chrono::seconds{50};
    ++(first_half ? rising : falling);
  }
  // Half-period means: rate·(1 ± 2·amplitude/π).
  CHECK(rising == doctest::Approx(50'000 * (1 + 1.6 / 3.14159265)).epsilon(0.02));
  CHECK(falling == doctest::Approx(50'000 * (1 - 1.6 / 3.14159265)).epsilon(0.03));
}

TEST_CASE("recorded arrivals start at 0 and stretch with the time scale") {
  Trace trace;
  for (const int at : {5, 7, 7, 11}) {
    TraceRow row;
    row.arrival = SimTime{std::chrono::seconds{at}};
    trace.add(row);
  }
  const auto times = make_arrival_times(ArrivalsAsRecorded{0.5}, stream(1, "arrivals"), &trace);
  CHECK(*times->next() == kStart);
  CHECK(*times->next() == SimTime{std::chrono::seconds{1}});
  CHECK(*times->next() == SimTime{std::chrono::seconds{1}});
  CHECK(*times->next() == SimTime{std::chrono::seconds{3}});
  CHECK_FALSE(times->next().has_value());
}

TEST_CASE("the same seed gives the same arrivals, another seed others") {
  CHECK(gaps(GammaArrivals{5, 2}, 100, 7) == gaps(GammaArrivals{5, 2}, 100, 7));
  CHECK(gaps(GammaArrivals{5, 2}, 100, 7) != gaps(GammaArrivals{5, 2}, 100, 8));
}

TEST_CASE("an arrival process out of range is refused by field") {
  CHECK(spec_error(PoissonArrivals{0}) == "poisson.rate: is out of range; expected 1e-9 to 1e9 requests per second");
  CHECK(spec_error(PoissonArrivals{std::nan("")}).starts_with("poisson.rate: "));
  CHECK(spec_error(GammaArrivals{1, -1}).starts_with("gamma.cv: is out of range"));
  CHECK(spec_error(WeibullArrivals{1, {}, {}}) == "weibull: needs its cv or its shape; expected exactly one of them");
  CHECK(spec_error(WeibullArrivals{1, 1.0, 1.0}).starts_with("weibull: "));
  CHECK(spec_error(BurstArrivals{1, 0}).starts_with("bursts.size: "));
  CHECK(spec_error(OnOffArrivals{1, 0, 1}).starts_with("on-off.on_s: "));
  CHECK(spec_error(DiurnalArrivals{1, 1.5, 10}).starts_with("diurnal.amplitude: "));
  CHECK(spec_error(ClosedLoop{0, 0, false}).starts_with("closed-loop.clients: "));
  CHECK(spec_error(ArrivalsAsRecorded{0}).starts_with("as-recorded.time_scale: "));
  const Trace lengths_only;
  CHECK(message_of([&] { (void)make_arrival_times(ArrivalsAsRecorded{}, stream(1, "arrivals"), &lengths_only); }) ==
        "as-recorded: the trace records no arrivals; choose a process, such as poisson");
  const auto slow = make_arrival_times(UniformArrivals{1e-9}, stream(1, "arrivals"));
  CHECK(message_of([&] {
          for (int i = 0; i < 20; ++i) (void)slow->next();
        }) == "arrivals: run past 291 years; raise the rate");
}
