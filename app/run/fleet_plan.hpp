// Which replicas come and go, from what an experiment says.
#pragma once

#include <optional>
#include <vector>

#include "app/experiment/experiment.hpp"
#include "policies/scaling/target_tracking.hpp"
#include "sim/membership.hpp"

namespace servecast {

class FleetPlan {
 public:
  explicit FleetPlan(const DeploymentSection& deployment);
  FleetPlan(const FleetPlan&) = delete;
  FleetPlan& operator=(const FleetPlan&) = delete;

  // Nothing where all replicas stay.
  [[nodiscard]] const Membership* membership() const { return changes_ ? &membership_ : nullptr; }

 private:
  void add_failure(const FailureSection& failure, const std::vector<int>& replicas);
  void add_join(const JoinSection& join);
  void add_autoscaler(const AutoscalerSection& section, int replicas);

  bool changes_ = false;
  std::optional<TargetTracking> autoscaler_;
  Membership membership_;
};

}  // namespace servecast
