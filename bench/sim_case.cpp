#include "bench/sim_case.hpp"

#include <chrono>
#include <filesystem>
#include <memory>

#include "app/results/point_files.hpp"
#include "bench/h100_llama8b.hpp"
#include "policies/registry.hpp"
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
[[gnu::noinline]] SimTiming timed_run(const SimulationConfig& config, ArrivalSource& source, Scheduler& scheduler,
                                      StepExecutor& executor, RequestTable& requests, bool files) {
  const auto from = std::chrono::steady_clock::now();
  const RunResult result = simulate(config, requests, source, scheduler, executor);
  const Summary summary = summarise(requests, result, {});
  if (files) {
    const auto file = std::filesystem::temp_directory_path() / "servecast_bench_requests.csv";
    write_requests_csv(file, requests);
    std::filesystem::remove(file);
  }
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - from;
  return {wall.count(), summary.completed_rate, result.counters.steps, result.preemptions, summary.completed};
}

}  // namespace

SimTiming run(const SimCase& what) {
  const std::filesystem::path file = std::filesystem::path(SERVECAST_SOURCE_DIR) /
                                     "../shared/data/traces/azure_llm_2023/AzureLLMInferenceTrace_conv.csv";
  std::shared_ptr<const Trace> trace;
  if (std::filesystem::exists(file)) trace = std::make_shared<const Trace>(read_trace(file.string()).trace);
  const auto source = make_workload(workload_of(what, trace != nullptr), trace);

  const SchedulerOptions options = with_cap(what.policy, what.cap);
  const ReplicaNeeds needs = replica_needs(options);
  H100Llama8B deployment;
  SimulationConfig config;
  config.replica.block_size = Tokens{needs.slots ? 1 : 16};
  config.replica.usable_blocks =
      Blocks{static_cast<std::int64_t>(what.block_share * static_cast<double>(deployment.kv_tokens().count())) /
             config.replica.block_size.count()};
  config.replica.grows = needs.grows;
  config.replica.name_blocks = what.block_ids;
  RequestTable requests;
  const auto scheduler = make_scheduler(options, requests);
  PredictedExecutor executor(deployment.model());
  return timed_run(config, *source, *scheduler, executor, requests, what.files);
}

}  // namespace servecast::bench
