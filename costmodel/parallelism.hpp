// One replica over several GPUs: the stages of its pipeline, what each holds, and which GPUs it gets.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "costmodel/memory.hpp"
#include "costmodel/model.hpp"
#include "costmodel/topology.hpp"

namespace servecast {

struct Parallelism {
  Sharding sharding;  // of every stage
  std::int64_t pipeline = 1;
  std::vector<std::int64_t> stage_layers;  // of each stage; empty: as even as can be

  [[nodiscard]] std::int64_t ranks() const { return sharding.ranks() * pipeline; }
};

// Layers of each stage. Even ones differ by at most one, and where the layers do not divide, the last stage, which has
// the LM head, has fewer; then come, from the back, the stages with one more (vLLM's rule). Throws InputError where a
// stage has no layer, or those given do not add up.
[[nodiscard]] std::vector<std::int64_t> layers_by_stage(const ModelShape& model, const Parallelism& parallelism);

struct LayerRange {
  std::int64_t first = 0;
  std::int64_t last = 0;  // exclusive
};

// The same, as the layers of the model that each stage has.
[[nodiscard]] std::vector<LayerRange> stage_ranges(const ModelShape& model, const Parallelism& parallelism);

// The stages as models of their own (stage_of), not yet divided over ranks.
[[nodiscard]] std::vector<ModelShape> pipeline_stages(const ModelShape& model, const Parallelism& parallelism);

// A block number means the same tokens on every stage, so the stage with the fewest blocks decides.
struct PipelineMemory {
  std::vector<MemoryPlan> stages;  // of one rank of each
  std::size_t fullest = 0;         // the stage that decides
  Blocks blocks;
};

// Throws InputError as plan_memory does.
[[nodiscard]] PipelineMemory plan_pipeline_memory(const ModelShape& model, const Parallelism& parallelism,
                                                  const Dtypes& dtypes, const MemoryBudget& budget);

// The GPUs of each stage, copy by copy of its attention, the tensor ranks of a copy together.
struct PlacedReplica {
  std::vector<std::vector<GpuIndex>> stages;
};

// Gives out the GPUs of a topology, each once, the first that fit:
// a replica stands in one host if any has room; else its stages follow each other over the hosts with each whole in one
// host if any has room, else each tensor-parallel group of it is; a group larger than every host takes whole hosts.
class Placer {
 public:
  // The topology must outlive it.
  explicit Placer(const Topology& topology);

  // Only GPUs of this device, or whose device the sheet does not say; an empty name takes any. Throws InputError that
  // says what does not fit, and then has given out nothing.
  [[nodiscard]] PlacedReplica place(const Parallelism& parallelism, std::string_view device = {});
  void release(const PlacedReplica& replica);
  [[nodiscard]] std::int64_t free_count(std::string_view device = {}) const;

 private:
  using Free = std::vector<std::vector<GpuIndex>>;  // by host

  [[nodiscard]] Free free_by_host(std::string_view device) const;
  void check_room(const Parallelism& parallelism, std::string_view device, const Free& free) const;

  const Topology& topology_;
  std::vector<bool> taken_;  // by GPU
};

// All replicas, on any GPUs. Throws InputError where they do not fit.
[[nodiscard]] std::vector<PlacedReplica> placement(const Topology& topology, const Parallelism& parallelism,
                                                   std::int64_t replicas);

}  // namespace servecast
