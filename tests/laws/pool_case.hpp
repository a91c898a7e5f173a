// Clusters with a prefill and a decode pool under random workloads, each replica watched token by token.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "costmodel/kv_network.hpp"
#include "tests/laws/cluster_run.hpp"

namespace servecast::test {

struct PoolCase {
  SchedulerOptions options;
  std::size_t prefills = 2, decodes = 2;
  std::vector<Arrival> arrivals;
  std::int64_t prefill_blocks = 60, decode_blocks = 60;
  PullConfig pull = {};
  double bytes_per_second = 1e9;
  std::optional<SimTime> horizon = {};
  const Membership* membership = nullptr;
  bool over_topology = false;  // else every pair of replicas has a link of its own
  std::size_t stages = 1;      // of every replica
};

inline constexpr std::int64_t kBlockBytes = 1'000'000;

// A GPU for each replica, each with a link of this bandwidth to one switch; a way takes as long as a link between
// pairs.
class Star {
 public:
  Star(const PoolCase& what, Bytes block)
      : topology_(star(what)),
        routes_(topology_),
        replicas_(of_one_gpu(what.prefills + what.decodes)),
        network_(routes_, {{0, 0, block}}, {{}, std::span(replicas_).first(what.prefills)},
                 {{}, std::span(replicas_).subspan(what.prefills)}) {}

  TransferNetwork& network() { return network_; }

 private:
  static Topology star(const PoolCase& what) {
    std::vector<TopologyNode> nodes{{"switch", NodeKind::kSwitch, std::nullopt, ""}};
    std::vector<TopologyLink> links;
    for (NodeIndex i = 1; i <= what.prefills + what.decodes; ++i) {
      nodes.push_back({"gpu", NodeKind::kGpu, 0, ""});
      links.push_back({i, 0, LinkMedium::kNetwork, what.bytes_per_second, 1, Duration{25'000}});
      links.push_back({0, i, LinkMedium::kNetwork, what.bytes_per_second, 1, Duration{25'000}});
    }
    return {"star", "A star", nodes, links};
  }
  static std::vector<PlacedReplica> of_one_gpu(std::size_t count) {
    std::vector<PlacedReplica> replicas;
    for (GpuIndex gpu = 0; gpu < count; ++gpu) replicas.push_back({{{gpu}}});
    return replicas;
  }

  Topology topology_;
  Routes routes_;
  std::vector<PlacedReplica> replicas_;
  KvNetwork network_;
};

inline void run(const PoolCase& what, ClusterRun& out, bool watched = true) {
  const std::size_t count = what.prefills + what.decodes;
  std::vector<LinearSteps> models(count);
  std::vector<LinearStages> stages(count, LinearStages(what.stages, Duration{30'011}, Duration{10'007}));
  std::vector<std::unique_ptr<StepExecutor>> executors;
  std::vector<std::unique_ptr<Scheduler>> schedulers;
  std::vector<ReplicaSpec> specs;
  out.watchers.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const Role role = i < what.prefills ? Role::kPrefill : Role::kDecode;
    LawCase alone;
    alone.options = what.options;
    alone.stages = what.stages;
    alone.blocks = role == Role::kPrefill ? what.prefill_blocks : what.decode_blocks;
    ReplicaConfig config = config_of(alone).replica;
    config.role = role;
    config.pull = what.pull;
    config.block_bytes = Bytes{kBlockBytes / (replica_needs(what.options).slots ? 16 : 1)};
    config.host_blocks = Blocks{100'000};
    config.swap_per_block = Duration{100'000};
    if (what.stages == 1) {
      executors.push_back(std::make_unique<PredictedExecutor>(models[i]));
    } else {
      executors.push_back(std::make_unique<PipelinedExecutor>(stages[i]));
    }
    schedulers.push_back(make_scheduler(what.options, out.requests, role));
    specs.push_back({config, schedulers.back().get(), executors.back().get(), watched ? &out.watchers[i] : nullptr});
  }
  DirectLinks links(what.bytes_per_second, Duration{50'000});
  const auto front = make_router({.kind = RouterKind::kShortestQueue, .load = Load::kWaiting, .slots = {}}, 1);
  const auto among = make_router({.kind = RouterKind::kLeastRequests, .load = Load::kRequests, .slots = {}}, 1);
  Star star(what, specs.front().config.block_bytes);
  Disaggregation pools{*among, what.over_topology ? star.network() : links};
  ClusterConfig config;
  config.horizon = what.horizon;
  config.disaggregation = &pools;
  config.membership = what.membership;
  GivenArrivals source(what.arrivals);
  out.result = simulate(config, specs, *front, out.requests, source);
}

// Those that can have pools, with limits that bind at times.
inline std::vector<SchedulerOptions> pooled() {
  std::vector<SchedulerOptions> list;
  for (const SchedulerOptions& options : small_schedulers()) {
    if (!replica_needs(options).one_place) list.push_back(options);
  }
  list.push_back(DistserveOptions{});
  DistserveOptions small;
  small.prefill_max_tokens = Tokens{150};
  small.decode_max_batch = 6;
  list.push_back(small);
  return list;
}

}  // namespace servecast::test
