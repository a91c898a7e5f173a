#include <doctest/doctest.h>

#include "tests/unit/app/experiment_support.hpp"

using namespace servecast;
using namespace servecast::test;

namespace {

Experiment with_arrivals(const std::string& arrivals) {
  return experiment(kHead + kDeployment + "workload: {trace: t.csv, arrivals: " + arrivals + "}\n");
}

template <class Process>
Process arrivals(const std::string& text) {
  return std::get<Process>(with_arrivals(text).workload.spec.arrivals);
}

template <class Options>
Options options(const std::string& policy, const std::string& block) {
  const std::string deployment = "deployment: {policy: " + policy + ", options: {" + policy + ": " + block + "}}\n";
  return std::get<Options>(experiment(kHead + kWorkload + deployment).deployment.policy);
}

LengthSpec prompt(const std::string& text) {
  const Experiment e = experiment(kHead + kDeployment + "workload: {lengths: {prompt: " + text +
                                  ", output: {fixed: 7}}, requests: 5, arrivals: {poisson: {rate: 1}}}\n");
  return std::get<DrawnLengths>(e.workload.spec.lengths).prompt;
}

}  // namespace

TEST_CASE("the smallest experiment has the documented defaults") {
  const Experiment e = experiment(kBase);
  CHECK(e.name == "exp");
  CHECK(e.model == "llama-3.1-8b");
  CHECK(e.device == "h100-sxm");
  CHECK(std::get<ArrivalsAsRecorded>(e.workload.spec.arrivals).time_scale == 1.0);
  CHECK_FALSE(std::get<RowsInOrder>(e.workload.spec.lengths).cycle);
  CHECK_FALSE(e.workload.spec.requests);
  CHECK_FALSE(e.workload.spec.max_tokens);
  CHECK(std::get<SarathiOptions>(e.deployment.policy).token_budget == Tokens{512});
  CHECK(e.deployment.tensor_parallel == 1);
  CHECK(e.deployment.block_size == Tokens{16});
  CHECK(e.deployment.memory_utilisation == 0.9);
  CHECK_FALSE(e.deployment.kv_blocks);
  CHECK_FALSE(e.summary.slo.any());
  CHECK(e.summary.slo.attainment == 0.9);
  CHECK_FALSE(e.horizon_s);
  CHECK(e.seed == 1);
  CHECK(e.workload.spec.seed == 1);
}

TEST_CASE("every key of the deployment arrives where it belongs") {
  const Experiment e = experiment(kHead + kWorkload + R"(
deployment:
  policy: vllm-v1
  tensor_parallel: 4
  async_scheduling: true
  weight_dtype: fp8
  kv_dtype: int8
  activation_dtype: bf16
  max_model_len: 8192
  block_size: 32
  gpu_memory_utilization: 0.85
  memory_reserve_bytes: 2000000000
  kv_blocks: 12345
  host: {per_step_s: 0.002, per_sequence_s: 1e-5}
)");
  const DeploymentSection& d = e.deployment;
  CHECK(d.tensor_parallel == 4);
  CHECK(d.async_scheduling);
  CHECK(d.dtypes.weights == "fp8");
  CHECK(d.dtypes.kv == "int8");
  CHECK(d.dtypes.activations == "bf16");
  CHECK(d.max_model_len == Tokens{8192});
  CHECK(d.block_size == Tokens{32});
  CHECK(d.memory_utilisation == 0.85);
  CHECK(d.memory_reserve == Bytes{2'000'000'000});
  CHECK(d.kv_blocks == Blocks{12345});
  CHECK(d.host.per_step == std::chrono::milliseconds{2});
  CHECK(d.host.per_sequence == std::chrono::microseconds{10});
  CHECK_FALSE(d.host.decode_only);
}

TEST_CASE("objectives, window, horizon, name and seed arrive where they belong") {
  const Experiment e =
      experiment(kBase +
                 "slo: {ttft_s: 0.5, tpot_s: 0.05, e2e_s: 20, attainment: 0.99}\n"
                 "window: {warm_up_s: 60, cool_down_s: 0.5}\nhorizon_s: 3600\nname: my-study\nseed: 7\n");
  CHECK(e.summary.slo.ttft_s == 0.5);
  CHECK(e.summary.slo.tpot_s == 0.05);
  CHECK(e.summary.slo.e2e_s == 20);
  CHECK(e.summary.slo.attainment == 0.99);
  CHECK(e.summary.warm_up == Duration{60'000'000'000});
  CHECK(e.summary.cool_down == Duration{500'000'000});
  CHECK(e.horizon_s == 3600);
  CHECK(e.name == "my-study");
  CHECK(e.seed == 7);
  CHECK(e.workload.spec.seed == 7);
}

TEST_CASE("a trace is a path, or a map that says how to read it") {
  const ExperimentFile file(
      kHead + kDeployment +
      "workload: {trace: {path: sub/t.json, format: sharegpt, sort: true, tokenizer: tok.model}}\n");
  const TraceChoice trace = *load_study(file.path()).points[0].experiment.workload.trace;
  const std::filesystem::path folder = file.path().parent_path();
  CHECK(trace.path == folder / "sub/t.json");
  CHECK(trace.format == "sharegpt");
  CHECK(trace.sort);
  CHECK(trace.tokenizer == folder / "tok.model");
  const ExperimentFile plain(kBase);
  CHECK(load_study(plain.path()).points[0].experiment.workload.trace->path == plain.path().parent_path() / "t.csv");
}

TEST_CASE("paths are relative to the experiment's file, absolute ones and names stay as they are") {
  const ExperimentFile file("servecast: 1\nmodel: ./m/config.json\ndevice: a100\nworkload: {trace: /data/t.csv}\n" +
                            kDeployment);
  const Experiment e = load_study(file.path()).points[0].experiment;
  CHECK(e.model == (file.path().parent_path() / "./m/config.json").string());
  CHECK(e.device == "a100");
  CHECK(e.workload.trace->path == "/data/t.csv");
}

TEST_CASE("every arrival process can be asked for") {
  CHECK(arrivals<ArrivalsAsRecorded>("as-recorded").time_scale == 1);
  CHECK(arrivals<ArrivalsAsRecorded>("{as-recorded: {time_scale: 0.5}}").time_scale == 0.5);
  CHECK(arrivals<PoissonArrivals>("{poisson: {rate: 8}}").rate_per_s == 8);
  CHECK(arrivals<GammaArrivals>("{gamma: {rate: 8, cv: 2}}").cv == 2);
  CHECK(arrivals<WeibullArrivals>("{weibull: {rate: 8, cv: 2}}").cv == 2);
  CHECK(arrivals<WeibullArrivals>("{weibull: {rate: 8, shape: 0.7}}").shape == 0.7);
  CHECK(arrivals<UniformArrivals>("{uniform: {rate: 3}}").rate_per_s == 3);
  CHECK(arrivals<BurstArrivals>("{bursts: {rate: 3, size: 16}}").size == 16);
  CHECK(arrivals<OnOffArrivals>("{on-off: {rate: 3, on_s: 5, off_s: 10}}").off_s == 10);
  CHECK(arrivals<DiurnalArrivals>("{diurnal: {rate: 3, amplitude: 0.5}}").period_s == 86400);
  static_cast<void>(arrivals<AllAtOnce>("all-at-once"));
  const auto loop = arrivals<ClosedLoop>("{closed-loop: {clients: 9, think_s: 2.5, exponential: true}}");
  CHECK(loop.clients == 9);
  CHECK(loop.think_s == 2.5);
  CHECK(loop.exponential);
}

TEST_CASE("every length distribution can be asked for") {
  CHECK(std::get<FixedLength>(prompt("{fixed: 512}").shape).tokens == 512);
  CHECK(std::get<UniformLength>(prompt("{uniform: {min: 3, max: 9}}").shape).max == 9);
  CHECK(std::get<ZipfLength>(prompt("{zipf: {max: 900, exponent: 1.1}}").shape).min == 1);
  const LengthSpec cut = prompt("{lognormal: {median: 1020, p90: 2734}, at_least: 10, at_most: 4096}");
  CHECK(std::get<LogNormalLength>(cut.shape).p90 == 2734);
  CHECK(cut.at_least == 10);
  CHECK(cut.at_most == 4096);
}

TEST_CASE("conversations, resampled and cycled rows, and a cap can be asked for") {
  const Experiment said = experiment(kHead + kDeployment + R"(
workload:
  conversations: {turns: {uniform: {min: 1, max: 8}}, question: {fixed: 50}, answer: {fixed: 200}, context: 4096}
  arrivals: {poisson: {rate: 2}}
  requests: 10
  max_tokens: 300
)");
  const auto& conversations = std::get<DrawnConversations>(said.workload.spec.lengths);
  CHECK(std::get<UniformLength>(conversations.turns.shape).max == 8);
  CHECK(std::get<FixedLength>(conversations.answer.shape).tokens == 200);
  CHECK(conversations.context == Tokens{4096});
  CHECK(said.workload.spec.requests == 10);
  CHECK(said.workload.spec.max_tokens == Tokens{300});

  const std::string open = kHead + kDeployment + "workload: {trace: t.csv, arrivals: {poisson: {rate: 2}}, ";
  CHECK(std::holds_alternative<RowsResampled>(experiment(open + "resample: true}\n").workload.spec.lengths));
  CHECK(std::get<RowsInOrder>(experiment(open + "cycle: true}\n").workload.spec.lengths).cycle);
}

TEST_CASE("every policy takes its own options") {
  const auto batch = options<StaticOptions>(
      "static", "{batch_size: 4, max_len: 99, padding: false, deliver: at_batch_end, wait_for_batch_s: 0.25}");
  CHECK(batch.batch_size == 4);
  CHECK(batch.max_len == Tokens{99});
  CHECK_FALSE(batch.padding);
  CHECK(batch.deliver_at_end);
  CHECK(batch.wait_for_batch == Duration{250'000'000});

  CHECK(options<OrcaOptions>("orca", "{max_batch: 5, reserve: exact}").reserve == Reservation::kExact);
  CHECK(options<OrcaOptions>("orca", "{reserve: power-of-two}").reserve == Reservation::kPowerOfTwo);
  CHECK(options<OrcaOptions>("orca", "{reserve: max-tokens}").reserve == Reservation::kMaxTokens);
  CHECK(options<OrcaOptions>("orca", "{reserve: max, max_len: 77}").max_len == Tokens{77});

  CHECK(options<VllmV0Options>("vllm-v0", "{max_num_seqs: 5, watermark: 0.1}").watermark == 0.1);
  CHECK(options<VllmV0Options>("vllm-v0", "{max_num_batched_tokens: 5}").max_num_batched_tokens == Tokens{5});

  const auto v1 = options<VllmV1Options>(
      "vllm-v1", "{long_prefill_token_threshold: 4, chunked_prefill: false, reserve_full_isl: false}");
  CHECK(v1.long_prefill_token_threshold == Tokens{4});
  CHECK_FALSE(v1.chunked_prefill);
  CHECK_FALSE(v1.reserve_full_isl);

  CHECK_FALSE(options<SarathiOptions>("sarathi", "{token_budget: 256, share_step: false}").share_step);

  const auto sglang = options<SglangOptions>(
      "sglang",
      "{chunked_prefill_size: 1, max_prefill_tokens: 2, max_running_requests: 3, new_token_ratio: 0.5, "
      "min_new_token_ratio: 0.2, ratio_decay: 0.01, clip_max_new_tokens: 4, mixed_chunk: true}");
  CHECK(sglang.chunked_prefill_size == Tokens{1});
  CHECK(sglang.max_prefill_tokens == Tokens{2});
  CHECK(sglang.max_running_requests == 3);
  CHECK(sglang.new_token_ratio == 0.5);
  CHECK(sglang.min_new_token_ratio == 0.2);
  CHECK(sglang.ratio_decay == 0.01);
  CHECK(sglang.clip_max_new_tokens == Tokens{4});
  CHECK(sglang.mixed_chunk);
}

TEST_CASE("anchors and aliases stand for what they name") {
  const Experiment e = experiment(kHead + kDeployment + R"(
workload:
  lengths: {prompt: &same {fixed: 64}, output: *same}
  arrivals: {poisson: {rate: 2}}
  requests: 10
)");
  CHECK(std::get<FixedLength>(std::get<DrawnLengths>(e.workload.spec.lengths).output.shape).tokens == 64);
}

TEST_CASE("an experiment without a name of its own takes its file's, or its folder's") {
  CHECK(experiment(kBase).name == "exp");
  const ExperimentFile file(kBase);
  const std::filesystem::path renamed = file.path().parent_path() / "experiment.yaml";
  std::filesystem::rename(file.path(), renamed);
  CHECK(load_study(renamed).points[0].experiment.name == file.path().parent_path().filename());
}

TEST_CASE("a file whose name could not be a folder's still gives a name") {
  const ExperimentFile file(kBase);
  const std::filesystem::path renamed = file.path().parent_path() / "my study (2).yaml";
  std::filesystem::rename(file.path(), renamed);
  const GridPoint point = load_study(renamed).points[0];
  CHECK(point.experiment.name == "my-study--2-");
  CHECK(study(point.resolved).points[0].experiment.name == "my-study--2-");
  CHECK(study(point.resolved).points[0].experiment.workload.trace->path == renamed.parent_path() / "t.csv");
}

TEST_CASE("the resolved experiment is a valid file that resolves to itself") {
  const std::string sweep =
      "slo: {ttft_s: 0.5}\nsweep:\n  deployment.policy: [static, orca, vllm-v0, vllm-v1, sarathi, sglang]\n"
      "  workload.arrivals: [as-recorded, all-at-once, {gamma: {rate: 3, cv: 0.5}}]\n";
  const Study first = study(kHead + kDeployment + "workload: {trace: /data/t.csv}\n" + sweep);
  REQUIRE(first.points.size() == 18);
  for (const GridPoint& point : first.points) {
    const Study again = study(point.resolved);
    REQUIRE(again.points.size() == 1);
    CHECK(again.points[0].resolved == point.resolved);
    CHECK(again.points[0].experiment.name == "exp");
    CHECK(again.points[0].experiment.deployment.policy.index() == point.experiment.deployment.policy.index());
  }
}
