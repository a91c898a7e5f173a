// Pipelines worked by hand: which batch a request joins, and when each stage runs what.
#include <doctest/doctest.h>

#include "tests/support/unit_run.hpp"

using namespace servecast;
using namespace servecast::test;

namespace {

using Times = std::vector<std::vector<std::int64_t>>;
using Steps = std::vector<std::string>;

std::int64_t in_seconds(Duration duration) {
  return std::chrono::duration_cast<std::chrono::seconds>(duration).count();
}

}  // namespace

// Two stages of 1 s, Orca, 100 slots of which A reserves 9, B 11 and C 7. A enters at 0: stage 1 from 0 to 1, stage 2
// from 1 to 2. B comes at 1, finds one step where two may run, and enters behind A (1 to 2, 2 to 3). At 2 A has its
// first token and C has come: both go into the next step of A's batch (2 to 3, 3 to 4). And so on:
//   stage 1   A 0-1, B 1-2, AC 2-3, B 3-4, AC 4-5
//   stage 2          A 1-2, B 2-3, AC 3-4, B 4-5, AC 5-6
// Both stages work 5 s each of the 6 s in which steps run.
TEST_CASE("a request that comes while one step runs enters behind it, and the two batches take turns") {
  Spec spec{{{"A", 0, 6, 3}, {"B", 1, 9, 2}, {"C", 2, 5, 2}}, 100, 1, OrcaOptions{.max_batch = 3}};
  spec.stage_seconds = {1, 1};
  const Outcomes out = run(spec);
  CHECK(out.steps == Steps{"t=0 A:P6 free=91", "t=1 B:P9 free=80", "t=2 A:D C:P5 free=73", "t=3 B:D free=73",
                           "t=4 A:D C:D free=73"});
  CHECK(out.emitted_at == Times{{2, 4, 6}, {3, 5}, {4, 6}});
  CHECK(in_seconds(out.result.counters.worked) == 10);
  CHECK(in_seconds(out.result.counters.busy) == 6);
}

// Stages of 1 s and 3 s with 1 s between them; one request a batch, so that A and B, who come together, make two.
//   stage 1   A 0-1, B 1-2,        A 5-6,  B 8-9,          C 11-12
//   way       A 1-2, B 2-3,        A 6-7,  B 9-10,         C 12-13
//   stage 2          A 2-5, B 5-8,         A 8-11, B 11-14, C 14-17
// A and B are planned at 0, though B waits in front of stage 1 until 1, and in front of stage 2 from 3 to 5. C comes at
// 6, when both run; at 8 B's batch is full with B; at 11 A has ended, and C gets its place. The second stage works
// without a gap from 2 on, so that a step ends every 3 s; 5 steps of 4 s in 17 s leave 14 of 34 stage-seconds idle.
TEST_CASE("the slower stage sets the pace of a pipeline, and what the others do not work is its bubble") {
  Spec spec{{{"A", 0, 4, 2}, {"B", 0, 4, 2}, {"C", 6, 4, 1}}, 100, 1, OrcaOptions{.max_batch = 1}};
  spec.stage_seconds = {1, 3};
  spec.handoff_seconds = 1;
  const Outcomes out = run(spec);
  CHECK(out.steps ==
        Steps{"t=0 A:P4 free=94", "t=0 B:P4 free=88", "t=5 A:D free=88", "t=8 B:D free=88", "t=11 C:P4 free=89"});
  CHECK(out.emitted_at == Times{{5, 11}, {8, 14}, {17}});
  CHECK(in_seconds(out.result.counters.worked) == 20);
  CHECK(in_seconds(out.result.counters.busy) == 17);
}

// vLLM V1 with two stages of 1 s. It plans A at 0, finds nothing more to run and waits for A's step. B comes at 1 and
// is seen at 2, when A's next step is planned: it joins that, and the other half of the pipeline stays empty.
TEST_CASE("vLLM V1, once it has nothing more to run, sees who comes when the oldest step ends: they share a batch") {
  Spec spec{{{"A", 0, 6, 3}, {"B", 1, 9, 2}}, 16, 4, VllmV1Options{}};
  spec.stage_seconds = {1, 1};
  const Outcomes out = run(spec);
  CHECK(out.steps == Steps{"t=0 A:P6 free=14", "t=2 A:D B:P9 free=11", "t=4 A:D B:D free=11"});
  CHECK(out.emitted_at == Times{{2, 4, 6}, {4, 6}});
}

// vLLM V1 with a budget of 4 tokens, 16 blocks of 4: a step is planned while the chunk before it is in flight, so the
// first two chunks enter one behind the other at 0 (0 to 2, 1 to 3), the last at 2, when the first is back (2 to 4).
TEST_CASE("vLLM V1 sends the chunks of one prompt into the pipeline one behind another") {
  VllmV1Options options;
  options.max_num_batched_tokens = Tokens{4};
  Spec spec{{{"A", 0, 12, 2}}, 16, 4, options};
  spec.stage_seconds = {1, 1};
  const Outcomes out = run(spec);
  CHECK(out.steps == Steps{"t=0 A:P4 free=15", "t=0 A:P4 free=14", "t=2 A:P4 free=13", "t=4 A:D free=12"});
  CHECK(out.emitted_at == Times{{4, 6}});
  RequestTable table;
  static_cast<void>(run(spec, table));
  CHECK(table[0].time_in(Cause::kPrefill) == std::chrono::seconds{4});
  CHECK(table[0].time_in(Cause::kDecode) == std::chrono::seconds{2});
}

// vLLM V1 with a budget of 5 tokens and 4 blocks of 4: A and B (prompt 5, 2 blocks each) are two batches, A's from 0,
// 2, 4, ... and B's one second behind. The step that A's batch plans at 8 computes its 9th token and needs a third
// block. None is free, and B, the last to be admitted, is in flight: so A throws itself out, and nothing starts. At 9 B
// takes its third block of the two that A gave back, and ends at 13 with its sixth token. Until then one block is free
// and A, with 9 tokens to compute anew, needs three: at 13 it starts with 5 of them, and behind them 4 (14 to 16).
TEST_CASE("out of memory, a batch of a pipeline throws out its own sequences, never one that is in flight") {
  VllmV1Options options;
  options.max_num_batched_tokens = Tokens{5};
  Spec spec{{{"A", 0, 5, 6}, {"B", 0, 5, 6}}, 4, 4, options};
  spec.stage_seconds = {1, 1};
  const Outcomes out = run(spec);
  CHECK(out.emitted_at == Times{{2, 4, 6, 8, 16, 18}, {3, 5, 7, 9, 11, 13}});
  CHECK(out.result.preemptions == 1);
}

// FasterTransformer's micro-batches: A and B are a batch, C and D another one. A's batch runs to the end of B's answer
// at 6, the other one to 5; E, who comes at 3, takes the place of the first that has ended.
TEST_CASE("static batching keeps a batch in each slot of the pipeline, and nobody joins one") {
  StaticOptions options{.batch_size = 2, .max_len = Tokens{16}};
  Spec spec{{{"A", 0, 4, 1}, {"B", 0, 4, 3}, {"C", 0, 4, 2}, {"D", 0, 4, 1}, {"E", 3, 4, 1}}, 16, 4, options};
  spec.stage_seconds = {1, 1};
  CHECK(run(spec).emitted_at == Times{{2}, {2, 4, 6}, {3, 5}, {3}, {7}});
}
