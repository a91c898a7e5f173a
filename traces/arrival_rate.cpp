#include "sim/overloaded.hpp"
#include "traces/arrivals.hpp"

namespace servecast {
namespace {

std::optional<double> recorded_rate(const Trace* trace) {
  if (trace == nullptr || !trace->has_arrivals() || trace->size() < 2) return std::nullopt;
  const Duration span = *trace->row(trace->size() - 1).arrival - *trace->row(0).arrival;
  if (span <= Duration{0}) return std::nullopt;
  return static_cast<double>(trace->size() - 1) / seconds(span);
}

}  // namespace

std::optional<double> mean_rate(const ArrivalSpec& spec, const Trace* trace) {
  return std::visit(Overloaded{[&](const ArrivalsAsRecorded& recorded) -> std::optional<double> {
                                 const std::optional<double> rate = recorded_rate(trace);
                                 return rate ? std::optional(*rate / recorded.time_scale) : std::nullopt;
                               },
                               [](const OnOffArrivals& on_off) -> std::optional<double> {
                                 return on_off.rate_per_s * on_off.on_s / (on_off.on_s + on_off.off_s);
                               },
                               [](const AllAtOnce&) -> std::optional<double> { return std::nullopt; },
                               [](const ClosedLoop&) -> std::optional<double> { return std::nullopt; },
                               [](const auto& process) -> std::optional<double> { return process.rate_per_s; }},
                    spec);
}

ArrivalSpec at_rate(const ArrivalSpec& spec, double rate_per_s, const Trace* trace) {
  const double factor = rate_per_s / mean_rate(spec, trace).value();
  ArrivalSpec changed = spec;
  std::visit(Overloaded{[&](ArrivalsAsRecorded& recorded) { recorded.time_scale /= factor; }, [](AllAtOnce&) {},
                        [](ClosedLoop&) {}, [&](auto& process) { process.rate_per_s *= factor; }},
             changed);
  return changed;
}

}  // namespace servecast
