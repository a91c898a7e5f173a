#include "costmodel/parallelism.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "sim/error.hpp"

namespace servecast {
namespace {

using Gpus = std::vector<GpuIndex>;

[[noreturn]] void refuse(const char* field, const std::string& problem) { throw InputError({{}, 0, field}, problem); }

std::string gpus(std::int64_t count) { return std::to_string(count) + (count == 1 ? " GPU" : " GPUs"); }

void check_given_layers(const ModelShape& model, const Parallelism& parallelism) {
  const auto& given = parallelism.stage_layers;
  if (std::ssize(given) != parallelism.pipeline) {
    refuse("stage_layers",
           "names " + std::to_string(given.size()) + " stages of " + std::to_string(parallelism.pipeline));
  }
  if (std::any_of(given.begin(), given.end(), [](std::int64_t layers) { return layers < 1; })) {
    refuse("stage_layers", "every stage needs a layer");
  }
  const std::int64_t sum = std::accumulate(given.begin(), given.end(), std::int64_t{0});
  if (sum != model.layer_count()) {
    refuse("stage_layers", "adds up to " + std::to_string(sum) + ", " + model.name + " has " +
                               std::to_string(model.layer_count()) + " layers");
  }
}

// The first `count` of the first host that has them.
std::optional<Gpus> take_from_one(std::vector<Gpus>& free, std::int64_t count) {
  for (Gpus& host : free) {
    if (std::ssize(host) < count) continue;
    const Gpus taken(host.begin(), host.begin() + count);
    host.erase(host.begin(), host.begin() + count);
    return taken;
  }
  return std::nullopt;
}

std::optional<Gpus> take_whole_hosts(std::vector<Gpus>& free, std::int64_t count,
                                     const std::vector<Gpus>& whole_hosts) {
  Gpus taken;
  for (std::size_t host = 0; host < free.size() && std::ssize(taken) < count; ++host) {
    const bool whole = !free[host].empty() && free[host].size() == whole_hosts[host].size();
    if (!whole || std::ssize(taken) + std::ssize(free[host]) > count) continue;
    taken.insert(taken.end(), free[host].begin(), free[host].end());
    free[host].clear();
  }
  if (std::ssize(taken) < count) return std::nullopt;
  return taken;
}

class Attempt {
 public:
  Attempt(std::vector<Gpus> free, const std::vector<Gpus>& hosts, const Sharding& sharding)
      : free_(std::move(free)), hosts_(hosts), sharding_(sharding) {}

  std::optional<PlacedReplica> place(std::int64_t stages) {
    PlacedReplica replica;
    if (const auto together = take_from_one(free_, stages * sharding_.ranks())) {
      for (std::int64_t s = 0; s < stages; ++s) {
        const auto first = together->begin() + s * sharding_.ranks();
        replica.stages.emplace_back(first, first + sharding_.ranks());
      }
      return replica;
    }
    for (std::int64_t s = 0; s < stages; ++s) {
      auto stage = place_stage();
      if (!stage) return std::nullopt;
      replica.stages.push_back(std::move(*stage));
    }
    return replica;
  }

 private:
  std::optional<Gpus> place_stage() {
    if (auto together = take_from_one(free_, sharding_.ranks())) return together;
    Gpus stage;
    for (std::int64_t copy = 0; copy < sharding_.data; ++copy) {
      auto group = take_from_one(free_, sharding_.tensor);
      if (!group) group = take_whole_hosts(free_, sharding_.tensor, hosts_);
      if (!group) return std::nullopt;
      stage.insert(stage.end(), group->begin(), group->end());
    }
    return stage;
  }

  std::vector<Gpus> free_;
  const std::vector<Gpus>& hosts_;
  Sharding sharding_;
};

[[noreturn]] void refuse_place(std::int64_t tensor, const Topology& topology) {
  std::size_t largest = 0;
  for (const Gpus& host : topology.hosts()) largest = std::max(largest, host.size());
  if (std::cmp_greater(tensor, largest)) {
    refuse("tensor_parallel", std::to_string(tensor) + " ranks exceed the " + gpus(static_cast<std::int64_t>(largest)) +
                                  " of a host, and no free hosts add up to them");
  }
  refuse("tensor_parallel", "no host of " + topology.name() + " has " + gpus(tensor) + " left");
}

std::string of_device(std::string_view device) {
  std::string text;
  if (!device.empty()) text.append(" of device ").append(device);
  return text;
}

}  // namespace

std::vector<std::int64_t> layers_by_stage(const ModelShape& model, const Parallelism& parallelism) {
  const std::int64_t stages = parallelism.pipeline;
  if (stages < 1) refuse("pipeline_parallel", "must be at least 1");
  if (stages > model.layer_count()) {
    refuse("pipeline_parallel", std::to_string(stages) + " stages exceed the " + std::to_string(model.layer_count()) +
                                    " layers of " + model.name);
  }
  if (!parallelism.stage_layers.empty()) {
    check_given_layers(model, parallelism);
    return parallelism.stage_layers;
  }
  std::vector<std::int64_t> layers(static_cast<std::size_t>(stages), model.layer_count() / stages);
  const std::int64_t rest = model.layer_count() % stages;
  for (std::int64_t i = 0; i < rest; ++i) ++layers[static_cast<std::size_t>(stages - 2 - i)];
  return layers;
}

std::vector<LayerRange> stage_ranges(const ModelShape& model, const Parallelism& parallelism) {
  std::vector<LayerRange> ranges;
  std::int64_t first = 0;
  for (const std::int64_t layers : layers_by_stage(model, parallelism)) {
    ranges.push_back({first, first + layers});
    first += layers;
  }
  return ranges;
}

std::vector<ModelShape> pipeline_stages(const ModelShape& model, const Parallelism& parallelism) {
  std::vector<ModelShape> stages;
  for (const auto& [first, last] : stage_ranges(model, parallelism)) stages.push_back(stage_of(model, first, last));
  return stages;
}

PipelineMemory plan_pipeline_memory(const ModelShape& model, const Parallelism& parallelism, const Dtypes& dtypes,
                                    const MemoryBudget& budget) {
  PipelineMemory memory;
  for (const ModelShape& stage : pipeline_stages(model, parallelism)) {
    memory.stages.push_back(plan_memory(shard(stage, parallelism.sharding), dtypes, budget));
    if (memory.stages.back().blocks < memory.stages[memory.fullest].blocks) memory.fullest = memory.stages.size() - 1;
  }
  memory.blocks = memory.stages[memory.fullest].blocks;
  return memory;
}

Placer::Placer(const Topology& topology) : topology_(topology), taken_(topology.gpu_count(), false) {}

Placer::Free Placer::free_by_host(std::string_view device) const {
  Free free(topology_.hosts().size());
  for (GpuIndex gpu = 0; gpu < topology_.gpu_count(); ++gpu) {
    const std::string& its = topology_.gpu(gpu).device;
    const bool wanted = device.empty() || its.empty() || its == device;
    if (wanted && !taken_[gpu]) free[topology_.host_of(gpu)].push_back(gpu);
  }
  return free;
}

std::int64_t Placer::free_count(std::string_view device) const {
  std::int64_t count = 0;
  for (const Gpus& host : free_by_host(device)) count += std::ssize(host);
  return count;
}

void Placer::check_room(const Parallelism& parallelism, std::string_view device, const Free& free) const {
  std::int64_t count = 0;
  for (const Gpus& host : free) count += std::ssize(host);
  if (count < parallelism.ranks()) {
    refuse("topology", topology_.name() + " has " + gpus(count) + of_device(device) + " left, a replica needs " +
                           std::to_string(parallelism.ranks()));
  }
}

PlacedReplica Placer::place(const Parallelism& parallelism, std::string_view device) {
  const Free free = free_by_host(device);
  check_room(parallelism, device, free);
  auto replica = Attempt(free, topology_.hosts(), parallelism.sharding).place(parallelism.pipeline);
  if (!replica) refuse_place(parallelism.sharding.tensor, topology_);
  for (const Gpus& stage : replica->stages) {
    for (const GpuIndex gpu : stage) taken_[gpu] = true;
  }
  return std::move(*replica);
}

void Placer::release(const PlacedReplica& replica) {
  for (const Gpus& stage : replica.stages) {
    for (const GpuIndex gpu : stage) taken_[gpu] = false;
  }
}

std::vector<PlacedReplica> placement(const Topology& topology, const Parallelism& parallelism, std::int64_t replicas) {
  if (replicas < 1) refuse("replicas", "must be at least 1");
  Placer placer(topology);
  std::vector<PlacedReplica> placed;
  for (std::int64_t i = 0; i < replicas; ++i) {
    if (placer.free_count() < parallelism.ranks()) {
      refuse("replicas", std::to_string(replicas) + " replicas of " + gpus(parallelism.ranks()) + " exceed the " +
                             gpus(topology.gpu_count()) + " of " + topology.name());
    }
    placed.push_back(placer.place(parallelism));
  }
  return placed;
}

}  // namespace servecast
