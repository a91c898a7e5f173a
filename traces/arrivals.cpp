#include "traces/arrivals.hpp"

#include <boost/math/special_functions/gamma.hpp>
#include <boost/random/exponential_distribution.hpp>
#include <boost/random/gamma_distribution.hpp>
#include <boost/random/uniform_01.hpp>
#include <boost/random/weibull_distribution.hpp>
#include <cmath>
#include <numbers>
#include <utility>

#include "traces/numbers.hpp"

namespace servecast {
namespace {

Duration checked_duration(double span_s) {
  if (!(span_s < kLatestSeconds)) refuse("arrivals", "run past 291 years", "raise the rate");
  return from_seconds(span_s);
}

// Moves `at` on by a gap, which is rounded to the nanosecond first so that sums stay exact.
void advance(SimTime& at, double gap_s) {
  const Duration gap = checked_duration(gap_s);
  checked_duration(seconds(at) + gap_s);
  at += gap;
}

// Independent gaps of one distribution, in seconds.
template <class Distribution>
class Renewal : public ArrivalTimes {
 public:
  Renewal(Distribution gaps, RandomStream stream) : gaps_(gaps), stream_(stream) {}
  std::optional<SimTime> next() override {
    if (std::exchange(started_, true)) advance(at_, gaps_(stream_));
    return at_;
  }

 private:
  Distribution gaps_;
  RandomStream stream_;
  SimTime at_ = kStart;
  bool started_ = false;
};

// `size` requests at k·size/rate for k = 0, 1, …, each instant rounded once.
class Pulses : public ArrivalTimes {
 public:
  Pulses(double gap_s, std::int64_t size) : gap_s_(gap_s), size_(size) {}
  std::optional<SimTime> next() override {
    const std::int64_t pulse = sent_++ / size_;
    return SimTime{checked_duration(static_cast<double>(pulse) * gap_s_)};
  }

 private:
  double gap_s_;
  std::int64_t size_;
  std::int64_t sent_ = 0;
};

// A Poisson process on the clock that only runs while requests may come.
class OnOff : public ArrivalTimes {
 public:
  OnOff(const OnOffArrivals& spec, RandomStream stream)
      : gaps_(spec.rate_per_s), stream_(stream), on_(checked_duration(spec.on_s)), off_(checked_duration(spec.off_s)) {}
  std::optional<SimTime> next() override {
    if (std::exchange(started_, true)) advance(running_, gaps_(stream_));
    const std::int64_t pauses = (running_ - kStart) / on_;
    checked_duration(seconds(running_) + static_cast<double>(pauses) * seconds(off_));
    return running_ + pauses * off_;
  }

 private:
  boost::random::exponential_distribution<double> gaps_;
  RandomStream stream_;
  Duration on_;
  Duration off_;
  SimTime running_ = kStart;  // time spent in on-periods
  bool started_ = false;
};

class Diurnal : public ArrivalTimes {
 public:
  Diurnal(const DiurnalArrivals& spec, RandomStream stream)
      : spec_(spec), candidates_(spec.rate_per_s * (1 + spec.amplitude)), stream_(stream) {}
  std::optional<SimTime> next() override {
    if (!std::exchange(started_, true)) return at_;
    do advance(at_, candidates_(stream_));
    while (share_(stream_) * (1 + spec_.amplitude) > relative_rate());
    return at_;
  }

 private:
  double relative_rate() const {
    return 1 + spec_.amplitude * std::sin(2 * std::numbers::pi * seconds(at_) / spec_.period_s);
  }

  DiurnalArrivals spec_;
  boost::random::exponential_distribution<double> candidates_;
  boost::random::uniform_01<double> share_;
  RandomStream stream_;
  SimTime at_ = kStart;
  bool started_ = false;
};

class Once : public ArrivalTimes {
 public:
  std::optional<SimTime> next() override { return kStart; }
};

class Recorded : public ArrivalTimes {
 public:
  Recorded(const Trace& trace, double scale) : trace_(trace), scale_(scale) {}
  std::optional<SimTime> next() override {
    if (index_ == trace_.size()) return std::nullopt;
    const Duration since_first = *trace_.row(index_++).arrival - *trace_.row(0).arrival;
    if (scale_ == 1.0) return kStart + since_first;
    return kStart + checked_duration(seconds(since_first) * scale_);
  }

 private:
  const Trace& trace_;
  double scale_;
  std::size_t index_ = 0;
};

struct Make {
  using Result = std::unique_ptr<ArrivalTimes>;
  RandomStream stream;
  const Trace* trace;

  template <class Distribution>
  Result renewal(Distribution gaps) const {
    return std::make_unique<Renewal<Distribution>>(gaps, stream);
  }
  Result operator()(const ArrivalsAsRecorded& spec) const {
    if (trace == nullptr || !trace->has_arrivals()) {
      refuse("as-recorded", "the trace records no arrivals", "choose a process, such as poisson");
    }
    return std::make_unique<Recorded>(*trace, spec.time_scale);
  }
  Result operator()(const PoissonArrivals& spec) const {
    return renewal(boost::random::exponential_distribution<double>(spec.rate_per_s));
  }
  // Shape 1/cv² and mean 1/rate.
  Result operator()(const GammaArrivals& spec) const {
    const double variation = spec.cv * spec.cv;
    return renewal(boost::random::gamma_distribution<double>(1 / variation, variation / spec.rate_per_s));
  }
  // Mean = scale·Γ(1 + 1/shape).
  Result operator()(const WeibullArrivals& spec) const {
    const double shape = spec.shape ? *spec.shape : weibull_shape(*spec.cv);
    const double scale = 1 / (spec.rate_per_s * boost::math::tgamma(1 + 1 / shape));
    return renewal(boost::random::weibull_distribution<double>(shape, scale));
  }
  Result operator()(const UniformArrivals& spec) const { return std::make_unique<Pulses>(1 / spec.rate_per_s, 1); }
  Result operator()(const BurstArrivals& spec) const {
    return std::make_unique<Pulses>(static_cast<double>(spec.size) / spec.rate_per_s, spec.size);
  }
  Result operator()(const OnOffArrivals& spec) const { return std::make_unique<OnOff>(spec, stream); }
  Result operator()(const DiurnalArrivals& spec) const { return std::make_unique<Diurnal>(spec, stream); }
  Result operator()(const AllAtOnce&) const { return std::make_unique<Once>(); }
  Result operator()(const ClosedLoop&) const {
    refuse("closed-loop", "has no instants of its own: each depends on the answers before it");
  }
};

}  // namespace

std::unique_ptr<ArrivalTimes> make_arrival_times(const ArrivalSpec& spec, RandomStream stream, const Trace* trace) {
  check(spec);
  return std::visit(Make{stream, trace}, spec);
}

double weibull_shape(double cv) {
  // The variation falls as the shape grows, so halving the interval finds it.
  const double wanted = std::log1p(cv * cv);
  double low = 0.01;
  double high = 1000;
  for (int i = 0; i < 200; ++i) {
    const double shape = 0.5 * (low + high);
    const double got = boost::math::lgamma(1 + 2 / shape) - 2 * boost::math::lgamma(1 + 1 / shape);
    (got > wanted ? low : high) = shape;
  }
  return 0.5 * (low + high);
}

}  // namespace servecast
