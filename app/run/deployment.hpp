// From what an experiment says to what runs: model, device, shard, memory plan and replica. Everything that
// can be refused is refused here, before the first event.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/experiment/experiment.hpp"
#include "costmodel/device.hpp"
#include "costmodel/kv_transfer.hpp"
#include "costmodel/memory.hpp"
#include "costmodel/model.hpp"
#include "costmodel/pipeline.hpp"
#include "costmodel/profile/profile.hpp"
#include "policies/registry.hpp"
#include "sim/replica.hpp"
#include "sim/step.hpp"

namespace servecast {

struct Deployment {
  std::filesystem::path model_file, device_file, profile_file;
  ModelShape model;  // the whole model
  DeviceSheet device;
  Parallelism parallelism;  // of one replica
  Dtypes dtypes;
  Role role = Role::kBoth;
  int replicas = 1;
  SchedulerOptions policy;  // lengths cut to the model's
  PipelineMemory memory;    // of one device of each stage
  ReplicaConfig replica;
  std::vector<KvPart> kv_of_block;  // of pools: what moves of one block, from which rank to which
  HostTime host;
  std::optional<Profile> profile;  // absent: the roofline
  PhaseScale time_scale;           // of the profile
  std::vector<std::string> notes;  // what a reader of the results must know
};

// Throws InputError, with the experiment's file and field, for a name that is not known, a format or split that
// the model does not take, or a model that does not fit (saying by how much).
// Of experiments with pools: the replicas of one of them. With a topology, whether the device computes what it is asked
// to shows only once they are placed.
[[nodiscard]] Deployment plan_deployment(const Experiment& experiment, Role role = Role::kBoth);

// The largest step of a policy: its tokens and the rows that sample. A policy without such a limit is planned
// for what its options let it batch.
struct LargestStep {
  Tokens tokens;
  std::int64_t sampled_rows = 0;
};
[[nodiscard]] LargestStep largest_step(const SchedulerOptions& policy, Tokens max_model_len, Role role = Role::kBoth);

// For one run: cost models remember, and are not shared between threads. Throws InputError where the device does not
// compute what it is asked to. What a placed replica's ranks exchange goes over the topology.
[[nodiscard]] std::unique_ptr<StepExecutor> make_executor(const Deployment& deployment,
                                                          const std::optional<Placed>& placed = std::nullopt);

// Throws InputError, with the experiment's file, where make_executor does.
void check_cost_model(const Experiment& experiment, const Deployment& deployment, const Placed& placed);

// The plan of the stage whose devices have the least room for KV: it decides for all.
[[nodiscard]] const MemoryPlan& tightest(const Deployment& deployment);

// Whether it stands for DistServe's own simulator (deployment.compat).
[[nodiscard]] bool is_simdistserve(const SchedulerOptions& policy);

// Devices of one of its replicas, and of all.
[[nodiscard]] std::int64_t devices_of_replica(const Deployment& deployment);
[[nodiscard]] std::int64_t device_count(const Deployment& deployment);

// Bytes of all devices of the replica that `blocks` of its cache take.
[[nodiscard]] double kv_bytes_of(const Deployment& deployment, double blocks);
// "KV cache: 27,420 blocks of 16 tokens = 438,720 tokens (57.50 GB on 1 device); ..."
[[nodiscard]] std::string describe_memory(const Deployment& deployment);

}  // namespace servecast
