// A run: requests from a source, through one replica, to their ends.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "sim/arrival_source.hpp"
#include "sim/observer.hpp"
#include "sim/replica.hpp"
#include "sim/request_table.hpp"
#include "sim/scheduler.hpp"
#include "sim/step.hpp"

namespace servecast {

struct SimulationConfig {
  ReplicaConfig replica;
  // Stop here; requests still open are counted as open, and their time is accounted for until then.
  std::optional<SimTime> horizon;
};

struct RunResult {
  Counters counters;
  LogHistogram gaps;  // inter-token gaps of all requests
  std::vector<TimelineSample> timeline;
  SimTime ended_at = kStart;        // when the last request ended, or the horizon
  bool stopped_at_horizon = false;  // requests were open or arrivals still to come
  Blocks usable_blocks, peak_blocks;
  Tokens block_size;
  std::int64_t preemptions = 0;
  std::int64_t tokens_emitted = 0;
};

// Called now and then with the requests that have ended and the simulated time.
using Progress = std::function<void(std::uint64_t, SimTime)>;

// Runs to the end (or the horizon), recording every request in `requests` (empty on entry). Throws SelfCheckError when
// a conservation law is breached and StalledError when nothing can move although requests are open.
[[nodiscard]] RunResult simulate(const SimulationConfig& config, RequestTable& requests, ArrivalSource& source,
                                 Scheduler& scheduler, StepExecutor& executor, RunObserver* observer = nullptr,
                                 const Progress& progress = {});

// The executor of every simulation: a step lasts what the cost model says.
class PredictedExecutor final : public StepExecutor {
 public:
  explicit PredictedExecutor(StepCostModel& model) : model_(model) {}
  std::optional<StepCost> start(StepId, const StepShape& shape) override { return model_.cost(shape); }

 private:
  StepCostModel& model_;
};

}  // namespace servecast
