// What schedulers do at their limits: requests that can never run, prompts beyond a budget, timers, horizons.
#include <doctest/doctest.h>

#include "sim/error.hpp"
#include "tests/support/unit_run.hpp"

using namespace servecast;
using namespace servecast::test;

namespace {

using Times = std::vector<std::vector<std::int64_t>>;

Refusal refusal_of(const SchedulerOptions& options, std::int64_t prompt, std::int64_t output, std::int64_t blocks) {
  RequestTable table;
  const Spec spec{{{"A", 0, 1, 1}, {"B", 0, prompt, output}, {"C", 1, 1, 1}}, blocks, 4, options};
  run(spec, table);
  CHECK(table[0].outcome == Outcome::kCompleted);
  CHECK(table[2].outcome == Outcome::kCompleted);  // nobody waits for ever behind it
  return table[1].refusal;
}

}  // namespace

TEST_CASE("a prompt larger than the cache is turned away at arrival, by every scheduler") {
  for (const std::string& name : scheduler_names()) {
    if (name == "static") continue;
    CAPTURE(name);
    CHECK(refusal_of(default_options(name), 100, 2, 20) == Refusal::kCache);
  }
}

TEST_CASE("a request that outgrows the cache while it decodes is aborted, and counted apart") {
  for (const SchedulerOptions& options :
       {SchedulerOptions{VllmV0Options{4, Tokens{64}, 0}}, SchedulerOptions{SarathiOptions{Tokens{64}, 4, 0, true}},
        SchedulerOptions{VllmV1Options{}}}) {
    RequestTable table;
    const Spec spec{{{"A", 0, 10, 40}}, 5, 4, options};
    run(spec, table);
    CHECK(table[0].outcome == Outcome::kAborted);
    CHECK(table[0].refusal == Refusal::kCache);
    CHECK(table[0].emitted > 0);
  }
}

TEST_CASE("vLLM V0 refuses a prompt beyond its step, and one that would leave less than the watermark") {
  CHECK(refusal_of(VllmV0Options{4, Tokens{32}, 0}, 33, 2, 100) == Refusal::kTokenBudget);
  CHECK(refusal_of(VllmV0Options{4, Tokens{4096}, 0.5}, 80, 2, 24) ==
        Refusal::kCache);  // needs 20, must leave 12 of 24
}

// B (9 tokens) is preempted after its first token and needs 10 for its return: more than the budget of 9 allows
// together with anybody else, so it runs alone.
TEST_CASE("vLLM V0 lets a preempted request that outgrew the budget return alone") {
  RequestTable table;
  const Spec spec{{{"A", 0, 8, 9}, {"B", 0, 9, 4}}, 6, 4, VllmV0Options{4, Tokens{9}, 0}};
  run(spec, table);
  CHECK(table[1].outcome == Outcome::kCompleted);
  CHECK(table[1].preemptions > 0);
}

TEST_CASE("vLLM V1 without chunked prefill refuses a prompt beyond its budget") {
  VllmV1Options options;
  options.chunked_prefill = false;
  options.max_num_batched_tokens = Tokens{16};
  CHECK(refusal_of(options, 17, 2, 100) == Refusal::kTokenBudget);
}

// B (9 tokens) is thrown out after its fourth token: it comes back with 13, beyond the budget of 10.
TEST_CASE("vLLM V1 without chunked prefill lets a preempted request that outgrew the budget return alone") {
  VllmV1Options options;
  options.chunked_prefill = false;
  options.max_num_batched_tokens = Tokens{10};
  RequestTable table;
  run({{{"A", 0, 8, 9}, {"B", 0, 9, 8}}, 6, 4, options}, table);
  CHECK(table[1].outcome == Outcome::kCompleted);
  CHECK(table[1].emitted == 8);
  CHECK(table[1].preemptions == 1);
}

// Three decode beside R's chunks and outgrow what admission promised to R: the chunk takes what is free, then waits
// until decodes are retracted.
TEST_CASE("SGLang's chunk beside decodes never takes more memory than there is") {
  SglangOptions options;
  options.chunked_prefill_size = Tokens{4};
  options.mixed_chunk = true;
  options.new_token_ratio = options.min_new_token_ratio = 0.1;
  RequestTable table;
  const Outcomes out =
      run({{{"A", 0, 1, 40}, {"B", 1, 1, 40}, {"C", 2, 1, 40}, {"R", 3, 40, 2}}, 70, 1, options}, table);
  CHECK(out.result.preemptions > 0);
  CHECK(out.result.peak_blocks <= Blocks{70});
  for (std::uint32_t i = 0; i < 4; ++i) CHECK(table[i].outcome == Outcome::kCompleted);
}

// One block holds a whole answer, but V0 wants a free one for every decode: B is thrown out at every step of A.
TEST_CASE("a request may be preempted more often than 65,536 times") {
  constexpr std::int64_t kTokens = 70'000;
  RequestTable table;
  const std::vector<Spec::Req> requests{{"A", 0, 1, kTokens}, {"B", 0, 1, kTokens}};
  ListSource source(requests);
  EqualSteps model(1);
  PredictedExecutor executor(model);
  const auto scheduler = make_scheduler(VllmV0Options{2, Tokens{1 << 17}, 0}, table);
  SimulationConfig config;
  config.replica.usable_blocks = Blocks{2};
  config.replica.block_size = Tokens{1 << 17};
  const RunResult result = simulate(config, table, source, *scheduler, executor);
  CHECK(result.preemptions > 65'536);
  CHECK(table[1].preemptions == result.preemptions);
}

TEST_CASE("Orca and static batching refuse what exceeds their reservation") {
  CHECK(refusal_of(OrcaOptions{4, Reservation::kMax, Tokens{16}}, 14, 4, 100) == Refusal::kReservation);
  CHECK(refusal_of(StaticOptions{.batch_size = 2, .max_len = Tokens{16}}, 14, 4, 100) == Refusal::kReservation);
  CHECK(refusal_of(OrcaOptions{}, 300, 150, 100) == Refusal::kCache);  // 450 tokens, room for 400
}

TEST_CASE("static batching waits for a full batch, but not longer than its timer") {
  StaticOptions options{.batch_size = 2, .max_len = Tokens{16}, .padding = false};
  options.wait_for_batch = std::chrono::seconds{5};
  CHECK(run({{{"A", 0, 4, 2}, {"B", 3, 4, 2}}, 16, 4, options}).emitted_at == Times{{4, 5}, {4, 5}});
  CHECK(run({{{"A", 0, 4, 2}, {"B", 9, 4, 2}}, 16, 4, options}).emitted_at == Times{{6, 7}, {15, 16}});
}

// A (prompt 4, 2 tokens) and B (prompt 8, 4 tokens): every step costs two slots at the longest's length, A's too when
// it has ended; without padding a step costs who is alive.
TEST_CASE("a padded batch costs its slots at the length of the longest, to the end") {
  class Shapes final : public StepCostModel {
   public:
    StepCost cost(const StepShape& shape) override {
      std::int64_t prompt = 0;
      for (const PrefillChunk& chunk : shape.prefills) prompt += chunk.tokens.count();
      seen.push_back({prompt, shape.decode_sequences, shape.decode_context.count(), shape.decode_window_context.count(),
                      shape.sampled_rows});
      return {std::chrono::seconds{1}, Duration{0}};
    }
    std::vector<std::vector<std::int64_t>> seen;
  };
  const auto shapes = [](bool padding) {
    const std::vector<Spec::Req> requests{{"A", 0, 4, 2}, {"B", 0, 8, 4}};
    const StaticOptions options{.batch_size = 2, .max_len = Tokens{16}, .padding = padding};
    ListSource source(requests);
    Shapes model;
    PredictedExecutor executor(model);
    RequestTable table;
    const auto scheduler = make_scheduler(options, table);
    SimulationConfig config;
    config.replica.usable_blocks = Blocks{16};
    config.replica.block_size = Tokens{4};
    config.replica.grows = false;
    config.replica.hold_until_batch_end = true;
    config.replica.attention_window = Tokens{10};
    (void)simulate(config, table, source, *scheduler, executor);
    return model.seen;
  };
  // Prompt tokens, decode rows, their keys, those in the window of 10, rows that sample.
  CHECK(shapes(true) == std::vector<std::vector<std::int64_t>>{
                            {16, 0, 0, 0, 2}, {0, 2, 18, 18, 2}, {0, 2, 20, 20, 2}, {0, 2, 22, 20, 2}});
  CHECK(shapes(false) == std::vector<std::vector<std::int64_t>>{
                             {12, 0, 0, 0, 2}, {0, 2, 14, 14, 2}, {0, 1, 10, 10, 1}, {0, 1, 11, 10, 1}});
}

TEST_CASE("answers delivered with their batch have TTFT equal to E2E") {
  RequestTable table;
  StaticOptions options{.batch_size = 2, .max_len = Tokens{16}, .padding = true, .deliver_at_end = true};
  run({{{"A", 0, 4, 2}, {"B", 0, 4, 5}}, 16, 4, options}, table);
  for (const std::uint32_t i : {0U, 1U}) {
    CHECK(table[i].first_token_at == at_second(5));
    CHECK(table[i].last_token_at == at_second(5));
  }
}

TEST_CASE("vLLM V1's watermark holds while something runs, and not otherwise") {
  VllmV1Options options;
  options.watermark = 0.5;  // 5 of 10 blocks
  // A (4 blocks) starts alone; B needs 3 of the 6 free but must leave 5: it waits for A's end at 2.
  CHECK(run({{{"A", 0, 15, 2}, {"B", 0, 11, 1}}, 10, 4, options}).emitted_at == Times{{1, 2}, {3}});
}

TEST_CASE("the horizon stops a run and leaves the rest open") {
  RequestTable table;
  const std::vector<Spec::Req> requests{{"A", 0, 4, 3}, {"B", 2, 4, 30}};
  ListSource source(requests);
  EqualSteps model(1);
  PredictedExecutor executor(model);
  const auto scheduler = make_scheduler(VllmV0Options{4, Tokens{64}, 0}, table);
  SimulationConfig config;
  config.replica.usable_blocks = Blocks{100};
  config.replica.block_size = Tokens{4};
  config.horizon = at_second(10);
  const RunResult result = simulate(config, table, source, *scheduler, executor);
  CHECK(result.stopped_at_horizon);
  CHECK(result.ended_at == at_second(10));
  CHECK(table[0].outcome == Outcome::kCompleted);
  CHECK(table[1].outcome == Outcome::kOpen);
}

TEST_CASE("the watchdog names who waits for what when a scheduler lets nothing move") {
  class Sleeper final : public Scheduler {
    void next_batch(ReplicaView&, SimTime, Batch& batch) override { batch.blocked_by = Blocker::kMemory; }
  };
  const std::vector<Spec::Req> requests{{"A", 0, 4, 3}};
  ListSource source(requests);
  EqualSteps model(1);
  PredictedExecutor executor(model);
  Sleeper scheduler;
  RequestTable table;
  SimulationConfig config;
  config.replica.usable_blocks = Blocks{100};
  config.replica.block_size = Tokens{4};
  CHECK_THROWS_WITH_AS(
      (void)simulate(config, table, source, scheduler, executor),
      "nothing can move: 1 waiting, 0 running, 100 of 100 KV blocks free; request 0 (4 prompt + 0 emitted "
      "tokens) waits for memory",
      StalledError);
}

TEST_CASE("a prompt as long as the model allows is refused, an answer beyond it is cut") {
  const std::vector<Spec::Req> requests{{"A", 0, 16, 3}, {"B", 0, 12, 30}};
  ListSource source(requests);
  EqualSteps model(1);
  PredictedExecutor executor(model);
  RequestTable table;
  const auto scheduler = make_scheduler(VllmV1Options{}, table);
  SimulationConfig config;
  config.replica.usable_blocks = Blocks{100};
  config.replica.block_size = Tokens{4};
  config.replica.max_model_len = Tokens{16};
  (void)simulate(config, table, source, *scheduler, executor);
  CHECK(table[0].refusal == Refusal::kModelLength);
  CHECK(table[1].outcome == Outcome::kCompleted);
  CHECK(table[1].truncated);
  CHECK(table[1].emitted == 4);
}

TEST_CASE("a cap beyond the model's length reserves no more than the model can fill") {
  const std::vector<Spec::Req> requests{{"A", 0, 12, 30}};
  for (const SchedulerOptions& options :
       {SchedulerOptions{StaticOptions{.batch_size = 2, .max_len = Tokens{16}}},
        SchedulerOptions{OrcaOptions{.reserve = Reservation::kMax, .max_len = Tokens{16}}},
        SchedulerOptions{OrcaOptions{}}, SchedulerOptions{SglangOptions{}}}) {
    CAPTURE(scheduler_name(options));
    ListSource source(requests);
    EqualSteps model(1);
    PredictedExecutor executor(model);
    RequestTable table;
    const auto scheduler = make_scheduler(options, table);
    SimulationConfig config;
    config.replica.usable_blocks = Blocks{17};  // 12 + 30 would not fit
    config.replica.block_size = Tokens{1};
    config.replica.max_model_len = Tokens{16};
    config.replica.grows = replica_needs(options).grows;
    (void)simulate(config, table, source, *scheduler, executor);
    CHECK(table[0].outcome == Outcome::kCompleted);
    CHECK(table[0].truncated);
    CHECK(table[0].emitted == 4);
  }
}
