// A run: requests from a source, through a cluster of replicas behind a router, to their ends.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "sim/arrival_source.hpp"
#include "sim/dispatcher.hpp"
#include "sim/membership.hpp"
#include "sim/observer.hpp"
#include "sim/replica.hpp"
#include "sim/request_table.hpp"
#include "sim/router.hpp"
#include "sim/run_result.hpp"
#include "sim/scheduler.hpp"
#include "sim/step.hpp"
#include "sim/transfer_network.hpp"

namespace servecast {

// One replica of a cluster; what it refers to must outlive the run, and is its own: nothing may be shared between
// replicas that keeps state.
struct ReplicaSpec {
  ReplicaConfig config;
  Scheduler* scheduler = nullptr;
  StepExecutor* executor = nullptr;
  RunObserver* observer = nullptr;  // none where absent
};

// How requests get from replicas that prefill to those that decode; needed where there are such.
struct Disaggregation {
  Router& router;  // among those that decode; it holds nothing back
  TransferNetwork& network;
};

// How requests get to where they are prefilled and decoded, when both are decided at once. Replicas prefill and decode
// alike, and tell prefills; KV is pushed.
struct Placing {
  Dispatcher& dispatcher;
  DirectLinks& network;
  // So many parts of a prompt's KV are sent one by one, each as soon as it has been computed; 1: all when the prompt is
  // done.
  std::int64_t layers = 1;
};

struct ClusterConfig {
  // Stop here; requests still open are counted as open, and their time is accounted for until then.
  std::optional<SimTime> horizon;
  // The router sees loads as they were at the latest multiple of this; 0: as they are. A router that holds requests
  // back always sees them as they are.
  Duration snapshot_age{0};
  Disaggregation* disaggregation = nullptr;
  Placing* placing = nullptr;  // instead of that, of the router and of snapshots that have an age
  // Who comes and goes; absent: all stay. Does not go with `placing` nor with replicas that schedule ahead, its
  // autoscaler not with disaggregation.
  const Membership* membership = nullptr;
};

// A cluster of one replica.
struct SimulationConfig {
  ReplicaConfig replica;
  std::optional<SimTime> horizon;
};

// Called now and then with the requests that have ended and the simulated time.
using Progress = std::function<void(std::uint64_t, SimTime)>;

// Runs to the end (or the horizon), recording every request in `requests` (empty on entry). Throws SelfCheckError when
// a conservation law is breached and StalledError when nothing can move although requests are open.
[[nodiscard]] RunResult simulate(const ClusterConfig& config, std::span<const ReplicaSpec> replicas, Router& router,
                                 RequestTable& requests, ArrivalSource& source, const Progress& progress = {});
[[nodiscard]] RunResult simulate(const SimulationConfig& config, RequestTable& requests, ArrivalSource& source,
                                 Scheduler& scheduler, StepExecutor& executor, RunObserver* observer = nullptr,
                                 const Progress& progress = {});

// The executor of every simulation: a step lasts what the cost model says.
class PredictedExecutor final : public StepExecutor {
 public:
  explicit PredictedExecutor(StepCostModel& model) : model_(model) {}
  std::optional<StepTimes> start(StepId, const StepShape& shape, SimTime) override {
    const StepCost cost = model_.cost(shape);
    const Duration length = cost.device + cost.host;
    return StepTimes{length, cost.host, length, cost.device};
  }

 private:
  StepCostModel& model_;
};

}  // namespace servecast
