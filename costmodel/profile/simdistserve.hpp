// What DistServe's own simulator (simdistserve, in its repository) makes of a profile's steps. For comparisons with
// what it published; a faithful replay of the engine takes StepsModel and states the host's time.
#pragma once

#include "costmodel/profile/steps.hpp"

namespace servecast {

// The profile's time, divided by the stages of the pipeline; a prefill step has a millisecond a stage besides. Each
// step waits 2 ms and 0.1 us for every token in its sequences' contexts (what the simulator calls Ray's overhead),
// which is host time here.
class SimdistserveModel final : public StepCostModel {
 public:
  // Requires stages of at least 1.
  SimdistserveModel(StepsProfile profile, std::int64_t stages);

  StepCost cost(const StepShape& shape) override;

 private:
  StepsModel steps_;
  std::int64_t stages_;
};

}  // namespace servecast
