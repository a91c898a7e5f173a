// A pipeline of which only whole steps are known: its stages are taken to be alike, and to hand on at once.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "sim/step.hpp"

namespace servecast {

class EqualStages final : public StageCostModel {
 public:
  // `stage` is what one of them takes, with the host's time of a step. Requires stages of at least 1.
  EqualStages(std::shared_ptr<StepCostModel> stage, std::size_t stages) : stage_(std::move(stage)), stages_(stages) {}

  [[nodiscard]] std::size_t stages() const override { return stages_; }
  StepCost stage_cost(std::size_t stage, const StepShape& shape) override {
    const StepCost cost = stage_->cost(shape);
    return stage == 0 ? cost : StepCost{cost.device, Duration{0}};
  }
  Duration handoff_time(std::size_t, const StepShape&) override { return Duration{0}; }

 private:
  std::shared_ptr<StepCostModel> stage_;
  std::size_t stages_;
};

}  // namespace servecast
