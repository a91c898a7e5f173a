#include "costmodel/pipeline.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace servecast {
namespace {

using Gpus = std::vector<GpuIndex>;

// The tensor ranks of the stage's first copy: those of the others are placed by the same rule.
Gpus first_group(const Gpus& stage, const Sharding& sharding) {
  return {stage.begin(), stage.begin() + sharding.tensor};
}

}  // namespace

PipelineModel::PipelineModel(const ModelShape& model, const DeviceSheet& device, const Dtypes& dtypes,
                             const Parallelism& parallelism, HostTime host, const std::optional<Placed>& placed,
                             std::int64_t streams)
    : sharding_(parallelism.sharding),
      send_(link_time(device, 2)),
      gather_(link_time(device, parallelism.sharding.tensor)),
      bytes_per_token_(static_cast<double>(streams * model.hidden) * bytes_per_element(dtypes.activations)) {
  add_stages(pipeline_stages(model, parallelism), device, dtypes, host, placed);
  if (placed) add_ways(*placed);
}

void PipelineModel::add_stages(const std::vector<ModelShape>& models, const DeviceSheet& device, const Dtypes& dtypes,
                               HostTime host, const std::optional<Placed>& placed) {
  for (std::size_t i = 0; i < models.size(); ++i) {
    Interconnect links;
    if (placed) {
      const Gpus& stage = placed->replica.stages[i];
      const CustomAllReduce custom = CustomAllReduce::of(device);
      links.tensor = std::make_shared<Collectives>(*placed->routes, first_group(stage, sharding_), custom);
      links.experts =
          sharding_.data == 1 ? links.tensor : std::make_shared<Collectives>(*placed->routes, stage, custom);
      tensor_groups_.push_back(links.tensor);
    }
    stages_.push_back(std::make_unique<RooflineModel>(models[i], device, dtypes, sharding_, i == 0 ? host : HostTime{},
                                                      std::move(links)));
  }
}

void PipelineModel::add_ways(const Placed& placed) {
  for (std::size_t i = 0; i + 1 < stages_.size(); ++i) {
    const Gpus& from = placed.replica.stages[i];
    const Gpus& to = placed.replica.stages[i + 1];
    std::vector<PointToPoint::Pair> pairs;
    for (std::size_t rank = 0; rank < from.size(); ++rank) pairs.emplace_back(from[rank], to[rank]);
    ways_.push_back({PointToPoint(*placed.routes, pairs), tensor_groups_[i + 1]});
  }
}

Bytes PipelineModel::handoff_bytes(const StepShape& shape) const {
  return Bytes{std::llround(bytes_per_token_ * static_cast<double>(tokens_of(shape)))};
}

Duration PipelineModel::handoff_time(std::size_t index, const StepShape& shape) {
  const double whole = bytes_per_token_ * static_cast<double>(tokens_of(shape));
  const double ranks = static_cast<double>(sharding_.tensor);
  double seconds = 0;
  if (ways_.empty()) {
    seconds = send_.summed(0, whole / ranks);
    if (sharding_.tensor > 1) seconds += gather_.summed(0, whole * (ranks - 1) / ranks);
  } else {
    seconds = ways_[index].send.cost(whole / ranks).seconds + ways_[index].gather->all_gather(whole).seconds;
  }
  return std::max(Duration{1}, from_seconds(seconds));
}

}  // namespace servecast
