#include "bench/sim_case.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "app/results/point_files.hpp"
#include "bench/h100_llama8b.hpp"
#include "policies/registry.hpp"
#include "policies/routing/registry.hpp"
#include "sim/simulation.hpp"
#include "sim/summary.hpp"
#include "traces/read.hpp"
#include "traces/workload.hpp"

namespace servecast::bench {
namespace {

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
[[gnu::noinline]] SimTiming timed_run(std::span<const ReplicaSpec> replicas, Router& router, ArrivalSource& source,
                                      RequestTable& requests, bool files) {
  const auto from = std::chrono::steady_clock::now();
  const RunResult result = simulate({}, replicas, router, requests, source);
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
  explicit Cluster(const SimCase& what) : options_(with_cap(what.policy, what.cap)) {
    const ReplicaNeeds needs = replica_needs(options_);
    ReplicaConfig& config = config_;
    config.block_size = Tokens{needs.slots ? 1 : 16};
    const double tokens = what.block_share * static_cast<double>(H100Llama8B().kv_tokens().count());
    config.usable_blocks = Blocks{static_cast<std::int64_t>(tokens) / config.block_size.count()};
    config.grows = needs.grows;
    config.name_blocks = what.block_ids;
    config.most_samples = std::max<std::size_t>(64, config.most_samples / static_cast<std::size_t>(what.replicas));
    deployments_ = std::vector<H100Llama8B>(static_cast<std::size_t>(what.replicas), H100Llama8B());
  }

  std::span<const ReplicaSpec> start(const RequestTable& requests) {
    for (H100Llama8B& deployment : deployments_) {
      schedulers_.push_back(make_scheduler(options_, requests));
      executors_.push_back(std::make_unique<PredictedExecutor>(deployment.model()));
      specs_.push_back({config_, schedulers_.back().get(), executors_.back().get(), nullptr});
    }
    return specs_;
  }

 private:
  SchedulerOptions options_;
  ReplicaConfig config_;
  std::vector<H100Llama8B> deployments_;
  std::vector<std::unique_ptr<Scheduler>> schedulers_;
  std::vector<std::unique_ptr<StepExecutor>> executors_;
  std::vector<ReplicaSpec> specs_;
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
  return timed_run(cluster.start(requests), *router, *source, requests, what.files);
}

}  // namespace servecast::bench
