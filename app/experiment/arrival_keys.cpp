#include "app/experiment/keys.hpp"

namespace servecast::experiments {
namespace {

constexpr NumberRange kRate{1e-9, 1e9};
constexpr NumberRange kCv{0.005, 100, true};

// A key of the process that is being read.
template <class Process, class Member>
Assign set(Member member) {
  return [member](Experiment& e, const Scalar& v) { std::get<Process>(e.workload.spec.arrivals).*member = v.number; };
}

// `goodput` leaves a rate of 1 to start the search from.
template <class Process>
Key rate_key(std::string about = "Mean rate; `goodput`: the highest at which the SLOs are met, searched.") {
  Key key = number_key("rate", "requests/s", kRate, std::move(about), [](Experiment& e, const Scalar& v) {
    e.workload.rate_is_goodput = !v.text.empty();
    std::get<Process>(e.workload.spec.arrivals).rate_per_s = v.text.empty() ? v.number : 1;
  });
  key.word = "goodput";
  return std::move(key).needed();
}

template <class Process>
Key process(const char* name, std::string about, std::vector<Key> keys) {
  return map_key(name, std::move(about), std::move(keys),
                 [](Experiment& e, const Scalar&) { e.workload.spec.arrivals = Process{}; })
      .as_alternative();
}

Key as_recorded_key() {
  return process<ArrivalsAsRecorded>(
      "as-recorded", "The trace's own instants.",
      {number_key("time_scale", "", {1e-9, 1e9}, "Multiplies every instant; 0.5 doubles the rate.",
                  set<ArrivalsAsRecorded>(&ArrivalsAsRecorded::time_scale))
           .with_default("1")});
}

Key gamma_key() {
  return process<GammaArrivals>(
      "gamma", "Gamma-distributed gaps.",
      {rate_key<GammaArrivals>(), number_key("cv", "", kCv, "Coefficient of variation of the gaps; 1 is Poisson.",
                                             set<GammaArrivals>(&GammaArrivals::cv))
                                      .needed()});
}

Key weibull_key() {
  return process<WeibullArrivals>(
      "weibull", "Weibull-distributed gaps, by `cv` or by `shape`.",
      {rate_key<WeibullArrivals>(),
       number_key("cv", "", kCv, "Coefficient of variation of the gaps.", set<WeibullArrivals>(&WeibullArrivals::cv)),
       number_key("shape", "", {0.1, 300}, "Shape of the distribution.",
                  set<WeibullArrivals>(&WeibullArrivals::shape))});
}

Key bursts_key() {
  return process<BurstArrivals>(
      "bursts", "`size` requests at one instant, each size/rate seconds.",
      {rate_key<BurstArrivals>(), integer_key("size", "requests", {1, 4294967295}, "Requests that come together.",
                                              [](Experiment& e, const Scalar& v) {
                                                std::get<BurstArrivals>(e.workload.spec.arrivals).size = v.integer;
                                              })
                                      .needed()});
}

Key on_off_key() {
  return process<OnOffArrivals>("on-off", "Poisson for a while, nothing for a while, and so on.",
                                {rate_key<OnOffArrivals>("Rate while on; the mean is rate·on/(on + off)."),
                                 number_key("on_s", "s", {1e-6, kMostSeconds}, "Length of an on-period.",
                                            set<OnOffArrivals>(&OnOffArrivals::on_s))
                                     .needed(),
                                 number_key("off_s", "s", {0, kMostSeconds}, "Length of an off-period.",
                                            set<OnOffArrivals>(&OnOffArrivals::off_s))
                                     .needed()});
}

Key diurnal_key() {
  return process<DiurnalArrivals>(
      "diurnal", "Poisson at the rate rate·(1 + amplitude·sin(2πt/period)).",
      {rate_key<DiurnalArrivals>(),
       number_key("amplitude", "", {0, 1}, "How far the rate swings, as a share of the mean.",
                  set<DiurnalArrivals>(&DiurnalArrivals::amplitude))
           .needed(),
       number_key("period_s", "s", {1e-6, kMostSeconds}, "Length of a swing.",
                  set<DiurnalArrivals>(&DiurnalArrivals::period_s))
           .with_default(decimal(DiurnalArrivals{}.period_s))});
}

Key closed_loop_key() {
  const auto loop = [](Experiment& e) -> ClosedLoop& { return std::get<ClosedLoop>(e.workload.spec.arrivals); };
  return process<ClosedLoop>(
      "closed-loop", "Each client sends its next request a think time after the answer to the one before.",
      {integer_key("clients", "", {1, 4294967295}, "How many there are; all start at 0.",
                   [loop](Experiment& e, const Scalar& v) { loop(e).clients = v.integer; })
           .needed(),
       number_key("think_s", "s", {0, kMostSeconds}, "Think time, or its mean.", set<ClosedLoop>(&ClosedLoop::think_s))
           .with_default("0"),
       boolean_key("exponential", "Think times exponentially distributed instead of all equal.",
                   [loop](Experiment& e, const Scalar& v) { loop(e).exponential = v.flag; })
           .with_default("false")});
}

}  // namespace

Key arrivals_key() {
  return one_of_key(
             "arrivals", "When requests come; the first comes at 0, except as recorded.",
             {as_recorded_key(),
              process<PoissonArrivals>("poisson", "Exponential gaps.", {rate_key<PoissonArrivals>()}), gamma_key(),
              weibull_key(),
              process<UniformArrivals>("uniform", "One request each 1/rate seconds.", {rate_key<UniformArrivals>()}),
              bursts_key(), on_off_key(), diurnal_key(), process<AllAtOnce>("all-at-once", "Everything at 0.", {}),
              closed_loop_key()})
      .with_default("as-recorded")
      .as_section();
}

}  // namespace servecast::experiments
