// When requests come. Every process sends its first request at 0; rates are requests per second.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "sim/random.hpp"
#include "sim/time.hpp"
#include "traces/trace.hpp"

namespace servecast {

// The trace's own instants, each multiplied by `time_scale` (0.5: twice the rate).
struct ArrivalsAsRecorded {
  double time_scale = 1.0;
};
// Exponential gaps.
struct PoissonArrivals {
  double rate_per_s = 0;
};
// Gamma-distributed gaps with this coefficient of variation (1: Poisson).
struct GammaArrivals {
  double rate_per_s = 0;
  double cv = 1;
};
// Weibull-distributed gaps, by coefficient of variation or by shape; exactly one of them.
struct WeibullArrivals {
  double rate_per_s = 0;
  std::optional<double> cv;
  std::optional<double> shape;
};
// One request each 1/rate.
struct UniformArrivals {
  double rate_per_s = 0;
};
// `size` requests at one instant, each size/rate.
struct BurstArrivals {
  double rate_per_s = 0;
  std::int64_t size = 1;
};
// Poisson at `rate_per_s` for `on_s`, nothing for `off_s`, and so on: the mean rate is rate·on/(on + off).
struct OnOffArrivals {
  double rate_per_s = 0;
  double on_s = 0;
  double off_s = 0;
};
// Poisson with the rate rate·(1 + amplitude·sin(2πt/period)), by thinning (Lewis and Shedler 1979).
struct DiurnalArrivals {
  double rate_per_s = 0;
  double amplitude = 0;  // from 0 to 1
  double period_s = 86400;
};
// Everything at 0.
struct AllAtOnce {};
// `clients` users, each of whom sends the next request a think time after the answer to the one before.
struct ClosedLoop {
  std::int64_t clients = 1;
  double think_s = 0;
  bool exponential = false;  // think times exponential with mean think_s, otherwise all equal
};

using ArrivalSpec = std::variant<ArrivalsAsRecorded, PoissonArrivals, GammaArrivals, WeibullArrivals, UniformArrivals,
                                 BurstArrivals, OnOffArrivals, DiurnalArrivals, AllAtOnce, ClosedLoop>;

// Throws InputError with the field ("poisson.rate", …) that is out of range.
void check(const ArrivalSpec& spec);

// "poisson, 8 requests/s"
[[nodiscard]] std::string describe(const ArrivalSpec& spec);

// Requests per second in the long run; of recorded arrivals (n − 1)/(last − first). Nothing where a process has no rate
// (all at once, closed loop, recorded arrivals that all come together).
[[nodiscard]] std::optional<double> mean_rate(const ArrivalSpec& spec, const Trace* trace = nullptr);

// The same process at another mean rate: with the same stream it draws the same numbers, so that runs at two rates
// differ by the rate alone. Requires that it has one, and a rate above 0.
[[nodiscard]] ArrivalSpec at_rate(const ArrivalSpec& spec, double rate_per_s, const Trace* trace = nullptr);

// Instants in order, the first at 0.
class ArrivalTimes {
 public:
  virtual ~ArrivalTimes() = default;
  // Nothing once a recorded trace is at its end. Throws InputError beyond 291 years.
  virtual std::optional<SimTime> next() = 0;
};

// Any process but a closed loop, which depends on the answers (see workload.hpp). `trace` is needed for
// recorded arrivals only, and must outlive the result. Throws InputError as `check` does.
[[nodiscard]] std::unique_ptr<ArrivalTimes> make_arrival_times(const ArrivalSpec& spec, RandomStream stream,
                                                               const Trace* trace = nullptr);

// The Weibull shape whose coefficient of variation this is, from cv² = Γ(1 + 2/k)/Γ(1 + 1/k)² − 1.
[[nodiscard]] double weibull_shape(double cv);

}  // namespace servecast
