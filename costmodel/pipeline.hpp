// The times of one replica's pipeline: of each stage for a batch, and of the way to the next. A replica without a
// pipeline is one stage.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "costmodel/collectives.hpp"
#include "costmodel/parallelism.hpp"
#include "costmodel/roofline.hpp"
#include "sim/step.hpp"

namespace servecast {

// The GPUs of a replica and the ways between them; without one, the device sheet's link joins all.
struct Placed {
  const Routes* routes = nullptr;
  PlacedReplica replica;
};

class PipelineModel final : public StageCostModel {
 public:
  // What a stage hands on for each token, in values of `hidden`: the layer's output and the residual stream apart, as
  // vLLM's models do; engines that add them first hand on 1.
  static constexpr std::int64_t kStreams = 2;

  // Throws InputError as RooflineModel and layers_by_stage do. With data parallelism, shapes are those of one copy
  // (StepWork).
  PipelineModel(const ModelShape& model, const DeviceSheet& device, const Dtypes& dtypes,
                const Parallelism& parallelism, HostTime host = {}, const std::optional<Placed>& placed = std::nullopt,
                std::int64_t streams = kStreams);

  [[nodiscard]] std::size_t stages() const override { return stages_.size(); }
  [[nodiscard]] StepCost stage_cost(std::size_t index, const StepShape& shape) override {
    return stages_[index]->cost(shape);
  }
  [[nodiscard]] RooflineModel& stage(std::size_t index) { return *stages_[index]; }
  // What one copy's ranks send together.
  [[nodiscard]] Bytes handoff_bytes(const StepShape& shape) const;
  // From stage `index` to the next, until each of its ranks has all of it: every tensor rank sends its part to its
  // counterpart, which gathers the others'.
  [[nodiscard]] Duration handoff_time(std::size_t index, const StepShape& shape) override;

 private:
  struct Way {
    PointToPoint send;
    std::shared_ptr<const Collectives> gather;  // of the receiving ranks
  };

  void add_stages(const std::vector<ModelShape>& models, const DeviceSheet& device, const Dtypes& dtypes, HostTime host,
                  const std::optional<Placed>& placed);
  void add_ways(const Placed& placed);

  Sharding sharding_;
  KernelTime send_;         // over the device's link, where nothing is placed
  KernelTime gather_;       // likewise, among the tensor ranks
  double bytes_per_token_;  // handed on by one copy
  std::vector<std::unique_ptr<RooflineModel>> stages_;
  std::vector<std::shared_ptr<const Collectives>> tensor_groups_;  // of each stage; null without a topology
  std::vector<Way> ways_;                                          // from each stage to the next; likewise none
};

}  // namespace servecast
