#include "app/run/run_point.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "app/run/fleet_plan.hpp"
#include "app/run/replica_set.hpp"
#include "policies/disaggregated/simdistserve.hpp"
#include "sim/client_latency.hpp"
#include "sim/error.hpp"
#include "sim/overloaded.hpp"

namespace servecast {
namespace {

void note_trace(const TraceReport& report, std::vector<std::string>& notes) {
  if (report.rows_dropped() > 0) {
    std::string why;
    for (const TraceReport::Drop& drop : report.dropped) {
      why += fmt::format("{}{} {}", why.empty() ? "" : ", ", drop.rows, drop.reason);
    }
    notes.push_back(
        fmt::format("trace {}: {} of {} rows dropped ({})", report.file, report.rows_dropped(), report.rows_read, why));
  }
  if (!report.tokens.empty() && report.tokens != "as recorded") notes.push_back("trace tokens: " + report.tokens);
  for (const std::string& note : report.notes) notes.push_back("trace: " + note);
}

// The queue grew: a fifth of all requests were still there when the last one came, and its tenth waited longer than
// a request otherwise takes. Latencies then measure how long the run was.
bool overloaded(const RequestTable& requests) {
  const std::uint32_t n = requests.size();
  if (n < 100) return false;
  const SimTime last = requests[n - 1].arrived_at;
  const std::uint32_t tenth = n / 10;
  std::uint32_t inside = 0;
  double service_s = 0, late_wait_s = 0;
  for (std::uint32_t i = 0; i < n; ++i) {
    const Request& r = requests[i];
    if (r.outcome != Outcome::kCompleted) continue;
    if (r.last_token_at > last) ++inside;
    service_s += seconds(r.last_token_at - r.arrived_at - r.waited());
    if (i >= n - tenth) late_wait_s += seconds(r.waited());
  }
  return last > requests[0].arrived_at && inside > n / 5 && late_wait_s / tenth > service_s / n;
}

void note_load(const PointResult& result, const RequestTable& requests, std::vector<std::string>& notes) {
  const Summary& s = result.summary;
  if (s.offered == 0) {
    notes.emplace_back("the window holds no request: there is nothing to report on");
  } else if (s.completed == 0) {
    notes.emplace_back("no request of the window completed: there are no latencies to report");
  }
  if (!overloaded(requests)) return;
  notes.push_back(
      fmt::format("overloaded: {:.3g} requests/s came and {:.3g}/s were completed; the queue grew, "
                  "and latencies depend on how long the run was",
                  s.offered_rate, s.completed_rate));
}

void note_more(const std::vector<std::string>& more, std::vector<std::string>& notes) {
  for (const std::string& note : more) {
    if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
  }
}

void note_workload(const Experiment& experiment, std::vector<std::string>& notes) {
  if (experiment.workload.spec.max_tokens) {
    notes.push_back(fmt::format("max_tokens {} for every request", experiment.workload.spec.max_tokens->count()));
  } else {
    notes.emplace_back("max_tokens pinned: each request's cap is its own output length, which the scheduler knows");
  }
  if (experiment.summary.warm_up > Duration{0} || experiment.summary.cool_down > Duration{0}) {
    notes.push_back(fmt::format("window: the first {:g} s and the last {:g} s of arrivals are left out",
                                seconds(experiment.summary.warm_up), seconds(experiment.summary.cool_down)));
  }
}

void note_outcome(const PointResult& result, std::vector<std::string>& notes) {
  const Summary& s = result.summary;
  const auto count = [&](std::int64_t number, const char* what) {
    if (number > 0) notes.push_back(fmt::format("{} request{} {}", number, number == 1 ? "" : "s", what));
  };
  const auto refused = [&](Refusal reason) { return s.refused[static_cast<std::size_t>(reason)]; };
  count(refused(Refusal::kModelLength), "turned away: the prompt fills the model's length");
  count(refused(Refusal::kCache), "turned away: larger than the KV cache");
  count(refused(Refusal::kReservation), "turned away: longer than what the policy reserves for each (its max_len)");
  count(refused(Refusal::kSwapSpace), "aborted: they had to leave the device, and the host had no room for their KV");
  count(refused(Refusal::kTokenBudget), "turned away: the prompt exceeds the step's token budget and is not chunked");
  count(s.truncated, "truncated: their answer was cut at max_model_len");
  std::int64_t lost = 0;
  for (const ReplicaResult& replica : result.run.replicas) lost += replica.lost;
  count(lost, "lost when their replica failed, and sent again");
  count(s.open, "still open when the run stopped");
  count(s.outside, "outside the window");
  if (result.run.counters.host == Duration{0}) {
    notes.emplace_back("host time: none is modelled (deployment.host); engines add 0.5 ms to several ms a step");
  }
  if (result.run.stopped_at_horizon) notes.emplace_back("stopped at the horizon");
}

std::shared_ptr<const PlacedFleet> place(const TopologyChoice& choice, const PreparedPoint& prepared) {
  std::vector<const Deployment*> pools{&prepared.deployment};
  if (prepared.decode) pools.push_back(&*prepared.decode);
  auto fleet = std::make_shared<const PlacedFleet>(choice, pools);
  std::size_t first = 0;
  for (const Deployment* pool : pools) {
    check_cost_model(prepared.point->experiment, *pool, fleet->placed(first));
    first += static_cast<std::size_t>(pool->replicas);
  }
  return fleet;
}

// The links of the topology, or where there is none one link for each pair of replicas.
std::unique_ptr<TransferNetwork> network_of(const PreparedPoint& prepared, const KvNetwork*& over_topology) {
  if (!prepared.fleet) {
    const PoolsSection& pools =
        *prepared.point->experiment.deployment.pools;  // where nothing moves, without a bandwidth
    return std::make_unique<DirectLinks>(std::max(pools.bytes_per_s, 1.0), from_seconds(pools.latency_s));
  }
  auto network = prepared.fleet->network(prepared.deployment, *prepared.decode);
  over_topology = network.get();
  return network;
}

void note_links(const PreparedPoint& prepared, const PointResult& result, std::vector<std::string>& notes) {
  if (!prepared.fleet) return;
  notes.push_back(prepared.fleet->describe());
  if (!result.busiest_link) return;
  notes.push_back(fmt::format("the busiest link of KV, {}, was used to {:.2g} % over the run",
                              link_text(prepared.fleet->topology(), result.busiest_link->link),
                              result.busiest_link->share * 100));
}
// The workload as it comes to the servers, and what they made of it as the clients saw it.
class ServedArrivals {
 public:
  ServedArrivals(ArrivalSource& workload, const SchedulerOptions& policy, ClientLatency client)
      : longer_(workload), server_(is_simdistserve(policy) ? longer_ : workload, client), client_(client) {}
  ServedArrivals(const ServedArrivals&) = delete;
  ServedArrivals& operator=(const ServedArrivals&) = delete;

  [[nodiscard]] ArrivalSource& source() { return server_; }
  void settle(RequestTable& requests, RunResult& run) const {
    if (!client_.any()) return;
    tell_as_clients_saw(requests, client_);
    if (!run.stopped_at_horizon) run.ended_at = after(run.ended_at, client_.response);
  }

 private:
  OneTokenMore longer_;
  ArrivalsAtServer server_;
  ClientLatency client_;
};

}  // namespace

const Deployment& deployment_of(const PreparedPoint& point, std::size_t replica) {
  return replica < static_cast<std::size_t>(point.deployment.replicas) ? point.deployment : *point.decode;
}

std::int64_t device_count(const PreparedPoint& point) {
  return device_count(point.deployment) + (point.decode ? device_count(*point.decode) : 0);
}

PreparedPoint prepare_point(const GridPoint& point, TraceCache& traces) {
  PreparedPoint prepared;
  prepared.point = &point;
  const bool pools = point.experiment.deployment.pools.has_value();
  prepared.deployment = plan_deployment(point.experiment, pools ? Role::kPrefill : Role::kBoth);
  if (pools) prepared.decode = plan_deployment(point.experiment, Role::kDecode);
  if (point.experiment.deployment.topology) prepared.fleet = place(*point.experiment.deployment.topology, prepared);
  if (point.experiment.workload.trace) prepared.trace = &traces.load(*point.experiment.workload.trace);
  // Made once and thrown away, so that lengths and arrivals that do not fit the trace are refused now.
  const auto probe = make_workload(point.experiment.workload.spec, prepared.trace ? prepared.trace->trace : nullptr);
  return prepared;
}

PointResult run_point(const PreparedPoint& prepared, RequestTable& requests, const Progress& progress) {
  const Experiment& experiment = prepared.point->experiment;
  const auto workload = make_workload(experiment.workload.spec, prepared.trace ? prepared.trace->trace : nullptr);
  const DeploymentSection& asked = experiment.deployment;
  ReplicaSet replicas(kStart + experiment.summary.warm_up, requests);
  replicas.add(prepared.deployment, prepared.fleet.get());
  if (prepared.decode) replicas.add(*prepared.decode, prepared.fleet.get());
  const Deployment& planned = prepared.deployment;
  const auto router =
      make_router(asked.router, max_running_in_all(planned.policy, planned.parallelism.pipeline, planned.role),
                  {experiment.seed, "router"});
  std::optional<Pools> pools;
  std::optional<PlacedPools> placed;
  const KvNetwork* links = nullptr;
  if (asked.pools && replica_needs(asked.policy).places) {
    placed.emplace(*asked.pools, prepared.deployment, *prepared.decode);
  } else if (asked.pools) {
    pools.emplace(*asked.pools, experiment.seed, network_of(prepared, links));
  }
  const FleetPlan fleet(asked);
  ClusterConfig config;
  config.membership = fleet.membership();
  config.snapshot_age = from_seconds(asked.snapshot_age_s);
  config.disaggregation = pools ? &pools->disaggregation() : nullptr;
  config.placing = placed ? &placed->placing() : nullptr;
  if (experiment.horizon_s) config.horizon = kStart + from_seconds(*experiment.horizon_s);

  PointResult result;
  result.axes = prepared.point->axes;
  result.arrivals = experiment.workload.spec.arrivals;
  ServedArrivals served(*workload, prepared.deployment.policy, asked.client);
  result.run = simulate(config, replicas.specs(), *router, requests, served.source(), progress);
  served.settle(requests, result.run);
  result.summary = summarise(requests, result.run, experiment.summary);
  result.realised = workload->realised();
  if (links != nullptr) result.busiest_link = links->busiest(from_seconds(result.summary.duration_s));
  result.notes = prepared.deployment.notes;
  if (prepared.decode) note_more(prepared.decode->notes, result.notes);
  note_links(prepared, result, result.notes);
  if (prepared.trace != nullptr) {
    note_trace(prepared.trace->report, result.notes);
    if (prepared.trace->trace->has_prefixes()) {
      result.notes.emplace_back("the trace's shared prefixes are not reused: every prompt is computed whole");
    }
  }
  note_workload(experiment, result.notes);
  note_load(result, requests, result.notes);
  note_outcome(result, result.notes);
  return result;
}

std::uint64_t requests_asked(const PreparedPoint& prepared) {
  const auto& asked = prepared.point->experiment.workload.spec.requests;
  if (asked) return static_cast<std::uint64_t>(*asked);
  return prepared.trace == nullptr ? 0 : prepared.trace->trace->size();
}

std::string describe_lengths(const Experiment& experiment) {
  const auto& trace = experiment.workload.trace;
  const std::string file = trace ? trace->path.filename().string() : std::string{};
  return std::visit(
      Overloaded{[&](const RowsInOrder& rows) {
                   return file + (rows.cycle ? ", rows in order, again and again" : ", rows in order");
                 },
                 [&](const RowsResampled&) { return file + ", rows resampled"; },
                 [](const DrawnLengths& drawn) {
                   return fmt::format("prompt {}; output {}", describe(drawn.prompt), describe(drawn.output));
                 },
                 [](const DrawnConversations& drawn) {
                   return fmt::format("conversations: turns {}; question {}; answer {}", describe(drawn.turns),
                                      describe(drawn.question), describe(drawn.answer));
                 }},
      experiment.workload.spec.lengths);
}

}  // namespace servecast
