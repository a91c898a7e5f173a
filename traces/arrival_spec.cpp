#include <cmath>
#include <iomanip>
#include <sstream>

#include "traces/arrivals.hpp"
#include "traces/numbers.hpp"

namespace servecast {
namespace {

void require(bool holds, const char* field, const char* problem, const char* hint) {
  if (!holds) refuse(field, problem, hint);
}

void check_positive(double value, const char* field) {
  require(std::isfinite(value) && value > 0, field, "must be a positive number", "expected a value above 0");
}

// One request each 30 years, or one each nanosecond: beyond either the clock has no meaning.
void check_rate(double rate, const char* field) {
  require(rate >= 1e-9 && rate <= 1e9, field, "is out of range", "expected 1e-9 to 1e9 requests per second");
}

void check_cv(double cv, const char* field) {
  require(cv > 0.005 && cv <= 100, field, "is out of range", "expected a coefficient of variation from 0.005 to 100");
}

struct Check {
  void operator()(const ArrivalsAsRecorded& spec) const { check_positive(spec.time_scale, "as-recorded.time_scale"); }
  void operator()(const PoissonArrivals& spec) const { check_rate(spec.rate_per_s, "poisson.rate"); }
  void operator()(const GammaArrivals& spec) const {
    check_rate(spec.rate_per_s, "gamma.rate");
    check_cv(spec.cv, "gamma.cv");
  }
  void operator()(const WeibullArrivals& spec) const {
    check_rate(spec.rate_per_s, "weibull.rate");
    require(spec.cv.has_value() != spec.shape.has_value(), "weibull", "needs its cv or its shape",
            "expected exactly one of them");
    if (spec.cv) check_cv(*spec.cv, "weibull.cv");
    if (spec.shape) {
      require(*spec.shape >= 0.1 && *spec.shape <= 300, "weibull.shape", "is out of range", "expected 0.1 to 300");
    }
  }
  void operator()(const UniformArrivals& spec) const { check_rate(spec.rate_per_s, "uniform.rate"); }
  void operator()(const BurstArrivals& spec) const {
    check_rate(spec.rate_per_s, "bursts.rate");
    require(spec.size >= 1, "bursts.size", "must be at least 1", "expected the requests that come together");
  }
  void operator()(const OnOffArrivals& spec) const {
    check_rate(spec.rate_per_s, "on-off.rate");
    require(spec.on_s >= 1e-6 && spec.on_s < kLatestSeconds, "on-off.on_s", "is out of range", "expected seconds");
    require(spec.off_s >= 0 && spec.off_s < kLatestSeconds, "on-off.off_s", "is out of range", "expected seconds");
  }
  void operator()(const DiurnalArrivals& spec) const {
    check_rate(spec.rate_per_s, "diurnal.rate");
    require(spec.amplitude >= 0 && spec.amplitude <= 1, "diurnal.amplitude", "is out of range", "expected 0 to 1");
    check_positive(spec.period_s, "diurnal.period_s");
  }
  void operator()(const AllAtOnce&) const {}
  void operator()(const ClosedLoop& spec) const {
    require(spec.clients >= 1, "closed-loop.clients", "must be at least 1", "expected the number of users");
    require(spec.think_s >= 0 && spec.think_s < kLatestSeconds, "closed-loop.think_s", "is out of range",
            "expected seconds from 0");
  }
};

struct Describe {
  // Six digits: a rate that was searched has seventeen.
  static std::string rate(double value) {
    std::ostringstream text;
    text << std::setprecision(6) << value << " requests/s";
    return std::move(text).str();
  }
  std::string operator()(const ArrivalsAsRecorded& spec) const {
    return spec.time_scale == 1.0 ? "as recorded" : "as recorded, times " + format_number(spec.time_scale);
  }
  std::string operator()(const PoissonArrivals& spec) const { return "poisson, " + rate(spec.rate_per_s); }
  std::string operator()(const GammaArrivals& spec) const {
    return "gamma, " + rate(spec.rate_per_s) + ", cv " + format_number(spec.cv);
  }
  std::string operator()(const WeibullArrivals& spec) const {
    return "weibull, " + rate(spec.rate_per_s) +
           (spec.shape ? ", shape " + format_number(*spec.shape) : ", cv " + format_number(spec.cv.value_or(0)));
  }
  std::string operator()(const UniformArrivals& spec) const { return "uniform, " + rate(spec.rate_per_s); }
  std::string operator()(const BurstArrivals& spec) const {
    return "bursts of " + std::to_string(spec.size) + ", " + rate(spec.rate_per_s);
  }
  std::string operator()(const OnOffArrivals& spec) const {
    return "on-off, " + rate(spec.rate_per_s) + " for " + format_number(spec.on_s) + " s, then " +
           format_number(spec.off_s) + " s without";
  }
  std::string operator()(const DiurnalArrivals& spec) const {
    return "diurnal, " + rate(spec.rate_per_s) + ", amplitude " + format_number(spec.amplitude) + ", period " +
           format_number(spec.period_s) + " s";
  }
  std::string operator()(const AllAtOnce&) const { return "all at once"; }
  std::string operator()(const ClosedLoop& spec) const {
    return "closed loop, " + std::to_string(spec.clients) + " clients, think time " + format_number(spec.think_s) +
           " s" + (spec.exponential ? " (exponential)" : "");
  }
};

}  // namespace

void check(const ArrivalSpec& spec) { std::visit(Check{}, spec); }

std::string describe(const ArrivalSpec& spec) { return std::visit(Describe{}, spec); }

}  // namespace servecast
