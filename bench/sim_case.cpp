#include "bench/sim_case.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "app/results/point_files.hpp"
#include "bench/h100_llama8b.hpp"
#include "costmodel/kv_network.hpp"
#include "policies/registry.hpp"
#include "policies/routing/registry.hpp"
#include "sim/simulation.hpp"
#include "sim/summary.hpp"
#include "traces/read.hpp"
#include "traces/workload.hpp"

namespace servecast::bench {
namespace {

constexpr std::int64_t kKvBytes = 131'072;      // of a token of Llama-3.1-8B in bf16
constexpr double kDirectBytesPerSecond = 48e9;  // what a way between DGX H100 hosts reaches

SchedulerOptions with_cap(const std::string& policy, std::int64_t cap) {
  SchedulerOptions options = default_options(policy);
  if (auto* orca = std::get_if<OrcaOptions>(&options)) orca->max_batch = cap;
  if (auto* v0 = std::get_if<VllmV0Options>(&options)) {
    v0->max_num_seqs = cap;
    v0->max_num_batched_tokens = Tokens{16384};
  }
  if (auto* v1 = std::get_if<VllmV1Options>(&options)) v1->max_num_seqs = cap;
  if (auto* sarathi = std::get_if<SarathiOptions>(&options)) sarathi->max_num_seqs = cap;
  return options;
}

WorkloadSpec workload_of(const SimCase& what, bool have_trace) {
  WorkloadSpec spec;
  spec.requests = what.fixed_output > 0 ? what.cap : what.requests;
  if (what.rate > 0) {
    spec.arrivals = PoissonArrivals{what.rate};
  } else {
    spec.arrivals = AllAtOnce{};
  }
  if (what.fixed_output > 0) {
    spec.lengths = DrawnLengths{{FixedLength{128}}, {FixedLength{what.fixed_output}}};
  } else if (have_trace) {
    spec.lengths = RowsResampled{};
  } else {  // median and 90th percentile of the Azure 2023 conversation trace
    LengthSpec prompt{LogNormalLength{.mean = {}, .sigma = {}, .median = 1020, .p90 = 2734.5}};
    LengthSpec output{LogNormalLength{.mean = {}, .sigma = {}, .median = 129, .p90 = 424}};
    prompt.at_most = 8000;
    output.at_most = 1000;
    spec.lengths = DrawnLengths{prompt, output};
  }
  return spec;
}

// The work that is timed, by a name that callgrind can be told to collect.
[[gnu::noinline]] SimTiming timed_run(const ClusterConfig& config, std::span<const ReplicaSpec> replicas,
                                      Router& router, ArrivalSource& source, RequestTable& requests, bool files) {
  const auto from = std::chrono::steady_clock::now();
  const RunResult result = simulate(config, replicas, router, requests, source);
  const Summary summary = summarise(requests, result, {});
  if (files) {
    const auto file = std::filesystem::temp_directory_path() / "servecast_bench_requests.csv";
    write_requests_csv(file, requests);
    std::filesystem::remove(file);
  }
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - from;
  return {wall.count(), summary.completed_rate, result.counters.steps, result.preemptions, summary.completed};
}

// The replicas, each with a scheduler and a cost model of its own.
class Cluster {
 public:
  explicit Cluster(const SimCase& what)
      : options_(with_cap(what.policy, what.cap)), pools_(what.links != SimCase::Links::kOnePool) {
    const ReplicaNeeds needs = replica_needs(options_);
    ReplicaConfig& config = config_;
    config.block_size = Tokens{needs.slots ? 1 : 16};
    const double tokens = what.block_share * static_cast<double>(H100Llama8B().kv_tokens().count());
    config.usable_blocks = Blocks{static_cast<std::int64_t>(tokens) / config.block_size.count()};
    config.grows = needs.grows;
    config.name_blocks = what.block_ids;
    config.most_samples = std::max<std::size_t>(64, config.most_samples / static_cast<std::size_t>(what.replicas));
    config.pull.overlapped = true;
    config.block_bytes = Bytes{config.block_size.count() * kKvBytes};
    deployments_ = std::vector<H100Llama8B>(static_cast<std::size_t>(what.replicas), H100Llama8B());
  }

  std::span<const ReplicaSpec> start(const RequestTable& requests) {
    for (std::size_t i = 0; i < deployments_.size(); ++i) {
      if (pools_) config_.role = i < deployments_.size() / 2 ? Role::kPrefill : Role::kDecode;
      schedulers_.push_back(make_scheduler(options_, requests, config_.role));
      executors_.push_back(std::make_unique<PredictedExecutor>(deployments_[i].model()));
      specs_.push_back({config_, schedulers_.back().get(), executors_.back().get(), nullptr});
    }
    return specs_;
  }
  [[nodiscard]] Bytes block_bytes() const { return config_.block_bytes; }

 private:
  SchedulerOptions options_;
  bool pools_;
  ReplicaConfig config_;
  std::vector<H100Llama8B> deployments_;
  std::vector<std::unique_ptr<Scheduler>> schedulers_;
  std::vector<std::unique_ptr<StepExecutor>> executors_;
  std::vector<ReplicaSpec> specs_;
};

// A GPU of DGX H100 hosts for each replica, those that prefill first.
class Hosts {
 public:
  Hosts(std::int64_t replicas, Bytes block)
      : topology_(load_topology(SERVECAST_SOURCE_DIR "/topologies/dgx-h100.yaml", (replicas + 7) / 8)),
        routes_(topology_),
        placed_(placement(topology_, {}, replicas)),
        network_(routes_, {{0, 0, block}}, {{}, std::span(placed_).first(placed_.size() / 2)},
                 {{}, std::span(placed_).subspan(placed_.size() / 2)}) {}
  [[nodiscard]] TransferNetwork& network() { return network_; }

 private:
  Topology topology_;
  Routes routes_;
  std::vector<PlacedReplica> placed_;
  KvNetwork network_;
};

}  // namespace

SimTiming run(const SimCase& what) {
  const std::filesystem::path file = std::filesystem::path(SERVECAST_SOURCE_DIR) /
                                     "../shared/data/traces/azure_llm_2023/AzureLLMInferenceTrace_conv.csv";
  std::shared_ptr<const Trace> trace;
  if (std::filesystem::exists(file)) trace = std::make_shared<const Trace>(read_trace(file.string()).trace);
  const auto source = make_workload(workload_of(what, trace != nullptr), trace);

  Cluster cluster(what);
  RequestTable requests;
  const auto router = make_router({.kind = router_kind(what.router), .load = Load::kRequests, .slots = {}}, what.cap);
  if (what.links == SimCase::Links::kOnePool) {
    return timed_run({}, cluster.start(requests), *router, *source, requests, what.files);
  }
  Hosts hosts(what.replicas, cluster.block_bytes());
  DirectLinks direct(kDirectBytesPerSecond, Duration{3'000});
  const auto among = make_router({.kind = RouterKind::kLeastRequests, .load = Load::kRequests, .slots = {}}, what.cap);
  Disaggregation pools{*among,
                       what.links == SimCase::Links::kDirect ? static_cast<TransferNetwork&>(direct) : hosts.network()};
  ClusterConfig config;
  config.disaggregation = &pools;
  return timed_run(config, cluster.start(requests), *router, *source, requests, what.files);
}

}  // namespace servecast::bench
