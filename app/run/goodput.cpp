#include "app/run/goodput.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "app/run/rate_search.hpp"
#include "sim/error.hpp"

namespace servecast {
namespace {

const Trace* trace_of(const PreparedPoint& prepared) {
  return prepared.trace == nullptr ? nullptr : prepared.trace->trace.get();
}

double share(std::int64_t met, std::int64_t offered) {
  return offered > 0 ? static_cast<double>(met) / static_cast<double>(offered) : 0;
}

// The point at one rate, with its own grid point, to which the prepared one refers.
struct PointAtRate {
  GridPoint point;
  PreparedPoint prepared;

  PointAtRate(const PreparedPoint& of, double rate, std::uint64_t seed) : point(*of.point), prepared(of) {
    WorkloadSpec& spec = point.experiment.workload.spec;
    spec.arrivals = at_rate(spec.arrivals, rate, trace_of(of));
    spec.seed = seed;
    point.experiment.seed = seed;  // routers draw from it
    prepared.point = &point;
  }
  PointAtRate(const PointAtRate&) = delete;
  PointAtRate& operator=(const PointAtRate&) = delete;
};

RateProbe probe_of(const Slo& slo, const Summary& summary, const RequestTable& requests) {
  RateProbe probe;
  probe.stability = stability_of(requests);
  probe.attainment = summary.attainment;
  probe.ttft_met = slo.ttft_s ? share(summary.met_ttft, summary.offered) : 1;
  probe.tpot_met = slo.tpot_s ? share(summary.met_tpot, summary.offered) : 1;
  probe.e2e_met = slo.e2e_s ? share(summary.met_e2e, summary.offered) : 1;
  probe.output_tokens_rate = summary.output_tokens_rate;
  probe.met = probe.stability == Stability::kStable && summary.attainment >= slo.attainment;
  return probe;
}

RateProbe run_at(const PreparedPoint& prepared, std::uint64_t seed, double rate, const Progress& progress) {
  const PointAtRate at(prepared, rate, seed);
  RequestTable requests;
  const PointResult result = run_point(at.prepared, requests, progress);
  RateProbe probe = probe_of(at.point.experiment.summary.slo, result.summary, requests);
  probe.rate_per_s = rate;
  probe.seed = seed;
  return probe;
}

}  // namespace

const RateProbe* GoodputFound::probe_at(double rate) const {
  const auto found =
      std::find_if(probes.begin(), probes.end(), [&](const RateProbe& p) { return p.rate_per_s == rate; });
  return found == probes.end() ? nullptr : &*found;
}

std::string GoodputFound::limit() const {
  const RateProbe* missed = probe_at(missed_rate_per_s);
  if (missed == nullptr || missed->stability == Stability::kTooShort) return "the run is too short to tell";
  if (missed->stability == Stability::kGrowing) return "the queue grows";
  const std::array<double, 3> shares{missed->ttft_met, missed->tpot_met, missed->e2e_met};
  const std::array<const char*, 3> names{"TTFT", "TPOT", "E2E"};
  return names[static_cast<std::size_t>(std::min_element(shares.begin(), shares.end()) - shares.begin())];
}

void check_goodput_is_defined(const PreparedPoint& prepared) {
  const Experiment& experiment = prepared.point->experiment;
  const std::string file = experiment.file.string();
  if (!experiment.summary.slo.any()) {
    throw InputError({file, 0, "slo"}, "is missing, and goodput is the rate at which SLOs are met",
                     "add slo: {ttft_s: 0.5, tpot_s: 0.05}");
  }
  if (!mean_rate(experiment.workload.spec.arrivals, trace_of(prepared))) {
    throw InputError({file, 0, "workload.arrivals"},
                     describe(experiment.workload.spec.arrivals) + " has no rate that could be searched",
                     "use poisson, gamma, weibull, uniform, bursts, on-off, diurnal, or recorded instants");
  }
}

GoodputFound find_goodput(const PreparedPoint& prepared, std::uint64_t seed, double tolerance,
                          const Progress& progress) {
  check_goodput_is_defined(prepared);
  GoodputFound found;
  RateSearch search;
  search.guess = *mean_rate(prepared.point->experiment.workload.spec.arrivals, trace_of(prepared));
  search.tolerance = tolerance;
  search.lowest = std::min(search.lowest, search.guess);
  search.highest = std::max(search.highest, search.guess);
  const RateBracket bracket = highest_rate(search, [&](double rate) {
    found.probes.push_back(run_at(prepared, seed, rate, progress));
    return found.probes.back().met;
  });
  found.rate_per_s = bracket.met;
  found.missed_rate_per_s = bracket.missed;
  return found;
}

PointResult run_at_goodput(const PreparedPoint& prepared, RequestTable& requests, const Progress& progress) {
  const GoodputFound found = find_goodput(prepared, prepared.point->experiment.seed, kGoodputTolerance);
  const double rate = found.rate_per_s > 0 ? found.rate_per_s : found.probes.back().rate_per_s;
  const PointAtRate at(prepared, rate, prepared.point->experiment.seed);
  PointResult result = run_point(at.prepared, requests, progress);
  result.notes.push_back(
      found.rate_per_s > 0
          ? fmt::format("rate {:.4g} requests/s: the highest at which the SLOs are met, in {} runs; "
                        "beyond it, {}",
                        rate, found.probes.size(), found.limit())
          : fmt::format("rate {:.4g} requests/s: the lowest that was tried; the SLOs are met at none", rate));
  return result;
}

}  // namespace servecast
