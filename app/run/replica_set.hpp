// The replicas of one run, each with a scheduler and a cost model of its own.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "app/run/deployment.hpp"
#include "sim/request_table.hpp"
#include "sim/simulation.hpp"

namespace servecast {

class ReplicaSet {
 public:
  // `requests` is the oracle of policies that ask one; it must outlive the set.
  ReplicaSet(const Deployment& deployment, int replicas, SimTime record_gaps_from, const RequestTable& requests);

  [[nodiscard]] std::span<const ReplicaSpec> specs() const { return specs_; }

 private:
  std::vector<std::unique_ptr<StepCostModel>> models_;
  std::vector<std::unique_ptr<PredictedExecutor>> executors_;
  std::vector<std::unique_ptr<Scheduler>> schedulers_;
  std::vector<ReplicaSpec> specs_;
};

}  // namespace servecast
