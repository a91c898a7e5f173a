#include "sim/pipelined_executor.hpp"

#include <algorithm>

namespace servecast {

PipelinedExecutor::PipelinedExecutor(StageCostModel& model)
    : model_(model), stage_free_at_(model.stages(), kStart), way_free_at_(model.stages() - 1, kStart) {}

std::optional<StepTimes> PipelinedExecutor::start(StepId, const StepShape& shape, SimTime at) {
  StepTimes times;
  SimTime here = at;
  for (std::size_t stage = 0; stage < stage_free_at_.size(); ++stage) {
    const StepCost cost = model_.stage_cost(stage, shape);
    const SimTime asked = std::max(here, stage_free_at_[stage]);
    const SimTime begins = std::max(here + cost.host, stage_free_at_[stage]);
    times.host += begins - asked;
    if (stage == 0) times.next = cost.host;
    times.worked += cost.device;
    here = stage_free_at_[stage] = begins + cost.device;
    if (stage == way_free_at_.size()) break;
    here = std::max(here, way_free_at_[stage]) + model_.handoff_time(stage, shape);
    way_free_at_[stage] = here;
  }
  times.length = here - at;
  return times;
}

void PipelinedExecutor::restart() {
  std::fill(stage_free_at_.begin(), stage_free_at_.end(), kStart);
  std::fill(way_free_at_.begin(), way_free_at_.end(), kStart);
}

}  // namespace servecast
