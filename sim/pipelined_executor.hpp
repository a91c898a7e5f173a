// When the steps of a pipeline end: each stage runs one after another, first come first served, and so does the way to
// the next stage, on which a batch travels while the stage runs the next.
#pragma once

#include <vector>

#include "sim/step.hpp"

namespace servecast {

// Predicts, as PredictedExecutor does for a replica of one stage; with one stage it says the same. The host prepares
// steps one after another, while stages run; a step that finds the first stage taken waits in front of it.
class PipelinedExecutor final : public StepExecutor {
 public:
  explicit PipelinedExecutor(StageCostModel& model);
  // Requires that the host has prepared what was started before (StepTimes::next).
  std::optional<StepTimes> start(StepId step, const StepShape& shape, SimTime at) override;
  void restart() override;

 private:
  StageCostModel& model_;
  std::vector<SimTime> stage_free_at_;
  std::vector<SimTime> way_free_at_;  // from each stage but the last
};

}  // namespace servecast
