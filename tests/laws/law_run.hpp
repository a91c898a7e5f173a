// Random workloads under every scheduler, watched token by token.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "policies/registry.hpp"
#include "sim/pipelined_executor.hpp"
#include "sim/random.hpp"
#include "sim/simulation.hpp"

namespace servecast::test {

// a + b·(tokens of the step) + c·(keys of the decodes), in nanoseconds: unequal steps, no coincidences in time.
class LinearSteps final : public StepCostModel {
 public:
  StepCost cost(const StepShape& shape) override {
    std::int64_t tokens = shape.decode_sequences;
    for (const PrefillChunk& chunk : shape.prefills) tokens += chunk.tokens.count();
    return {Duration{1'000'003 + 20'011 * tokens + 7 * shape.decode_context.count()}, Duration{10'007}};
  }
};

// The same, each stage a share of it; the last one has more.
class LinearStages final : public StageCostModel {
 public:
  LinearStages(std::size_t stages, Duration handoff, Duration host) : stages_(stages), handoff_(handoff), host_(host) {}
  [[nodiscard]] std::size_t stages() const override { return stages_; }
  StepCost stage_cost(std::size_t stage, const StepShape& shape) override {
    const Duration whole = model_.cost(shape).device;
    const bool last = stages_ > 1 && stage + 1 == stages_;
    return {whole / static_cast<std::int64_t>(stages_) + Duration{last ? 101'003 : 0},
            stage == 0 ? host_ : Duration{0}};
  }
  Duration handoff_time(std::size_t, const StepShape&) override { return handoff_; }

 private:
  LinearSteps model_;
  std::size_t stages_;
  Duration handoff_, host_;
};

class GivenArrivals final : public ArrivalSource {
 public:
  explicit GivenArrivals(const std::vector<Arrival>& arrivals) : arrivals_(arrivals) {}
  std::optional<Arrival> next() override {
    if (next_ == arrivals_.size()) return std::nullopt;
    return arrivals_[next_++];
  }
  void finished(RequestId, SimTime) override {}

 private:
  const std::vector<Arrival>& arrivals_;
  std::size_t next_ = 0;
};

struct Watched {
  std::vector<PlannedChunk> chunks;
  std::vector<PrefillChunk> prefills;
  std::int64_t decodes = 0;
  std::vector<std::uint32_t> emitters;
  SimTime started_at, ended_at;
};

struct Watcher final : RunObserver {
  void planned(const PlannedStep& step, std::span<const std::uint32_t> emitters, const ReplicaState& state) override {
    Watched& w = steps[step.number];
    w.chunks = step.chunks;
    w.prefills = step.prefills;
    w.decodes = step.decode_count;
    w.emitters.assign(emitters.begin(), emitters.end());
    // After a step is planned: KV of all but the newest token (of those past their prefill).
    for (SeqId id = state.lane->running.first(); id != kNoSeq; id = state.sequences[id].next) {
      const Sequence& sequence = state.sequences[id];
      const Request& request = state.requests[sequence.request];
      if (sequence.phase != Sequence::Phase::kDecode) continue;
      const std::int64_t emitted = request.emitted + state.lane->cohort.planned(sequence);
      // The observer sees decodes before they advance: the coming token is not yet counted on either side.
      if (state.stored_tokens(sequence) != request.prompt + emitted - 1) ++wrong_contexts;
    }
  }
  void ended(std::int64_t step, SimTime started, SimTime ended) override {
    Watched& w = steps[step];
    w.started_at = started;
    w.ended_at = ended;
    for (const std::uint32_t request : w.emitters) tokens_at[request].push_back(ended);
  }

  std::map<std::int64_t, Watched> steps;
  std::map<std::uint32_t, std::vector<SimTime>> tokens_at;
  int wrong_contexts = 0;
};

struct LawCase {
  SchedulerOptions options;
  std::vector<Arrival> arrivals;
  std::int64_t blocks = 0;
  std::int64_t block_size = 16;
  bool async = false;
  bool name_blocks = false;
  std::optional<SimTime> horizon = std::nullopt;
  Duration sample_every = std::chrono::seconds{1};
  std::size_t stages = 1;
  bool as_pipeline = false;
  Duration handoff{30'011}, host{10'007};  // of a pipeline
};

struct LawRun {
  RequestTable requests;
  RunResult result;
  Watcher watcher;
};

inline SimulationConfig config_of(const LawCase& what) {
  const ReplicaNeeds needs = replica_needs(what.options);
  SimulationConfig config;
  config.replica.block_size = Tokens{needs.slots ? 1 : what.block_size};
  config.replica.usable_blocks = Blocks{needs.slots ? what.blocks * what.block_size : what.blocks};
  config.replica.grows = needs.grows;
  config.replica.hold_until_batch_end = needs.hold_until_batch_end;
  config.replica.deliver_at_batch_end = needs.deliver_at_batch_end;
  config.replica.async_scheduling = what.async;
  config.replica.fills_on_arrival = needs.fills_on_arrival;
  config.replica.chunks_follow = needs.chunks_follow;
  config.replica.stages = what.stages;
  config.replica.as_pipeline = what.as_pipeline;
  config.replica.name_blocks = what.name_blocks;
  config.replica.check_every = 1;
  config.replica.sample_every = what.sample_every;
  config.horizon = what.horizon;
  return config;
}

inline void run(const LawCase& what, LawRun& out, bool watched = true) {
  GivenArrivals source(what.arrivals);
  LinearSteps model;
  PredictedExecutor plain(model);
  LinearStages stages(what.stages, what.handoff, what.host);
  PipelinedExecutor pipelined(stages);
  StepExecutor& executor = what.stages == 1 && !what.as_pipeline ? static_cast<StepExecutor&>(plain) : pipelined;
  const auto scheduler = make_scheduler(what.options, out.requests);
  out.result = simulate(config_of(what), out.requests, source, *scheduler, executor, watched ? &out.watcher : nullptr);
}

inline std::int64_t draw(RandomStream& random, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
}

inline std::vector<Arrival> random_arrivals(RandomStream& random, std::int64_t count, std::int64_t longest_prompt,
                                            std::int64_t longest_output, std::int64_t longest_gap_ns) {
  std::vector<Arrival> arrivals;
  SimTime at = kStart;
  for (std::int64_t i = 0; i < count; ++i) {
    const Tokens output{draw(random, 1, longest_output)};
    arrivals.push_back({at, Tokens{draw(random, 1, longest_prompt)}, output, output});
    if (draw(random, 0, 3) != 0) at += Duration{draw(random, 0, longest_gap_ns)};
  }
  return arrivals;
}

// Small limits, so that budgets, slots and memory all bind at times. Every request can run alone.
inline std::vector<SchedulerOptions> small_schedulers() {
  VllmV1Options v1;
  v1.max_num_batched_tokens = Tokens{64};
  v1.max_num_seqs = 12;
  VllmV1Options v1_eager = v1;
  v1_eager.reserve_full_isl = false;
  v1_eager.long_prefill_token_threshold = Tokens{20};
  v1_eager.max_num_batched_tokens = Tokens{9};  // below the number that run: decodes take turns
  SglangOptions sglang;
  sglang.chunked_prefill_size = Tokens{64};
  sglang.max_running_requests = 12;
  sglang.new_token_ratio = 0.3;
  sglang.min_new_token_ratio = 0.1;
  SglangOptions mixed = sglang;
  mixed.mixed_chunk = true;
  return {StaticOptions{.batch_size = 6, .max_len = Tokens{160}},
          StaticOptions{.batch_size = 6, .max_len = Tokens{160}, .deliver_at_end = true},
          StaticOptions{.batch_size = 6, .max_len = Tokens{160}, .wait_for_batch = Duration{30'000'000}},
          OrcaOptions{.max_batch = 12},
          OrcaOptions{.max_batch = 12, .reserve = Reservation::kPowerOfTwo},
          OrcaOptions{.max_batch = 12, .reserve = Reservation::kExact},
          VllmV0Options{12, Tokens{200}, 0.01},
          v1,
          v1_eager,
          SarathiOptions{Tokens{64}, 12, 0.01, true},
          SarathiOptions{Tokens{64}, 12, 0.01, false},
          sglang,
          mixed};
}

}  // namespace servecast::test
