// Asynchronous scheduling (depth 2), worked by hand: step k + 1 is planned at the end of step k − 1.
#include <doctest/doctest.h>

#include "tests/support/unit_run.hpp"

using namespace servecast;
using namespace servecast::test;

namespace {

VllmV1Options budget_of_eight(std::int64_t max_num_seqs) {
  VllmV1Options options;
  options.max_num_batched_tokens = Tokens{8};
  options.max_num_seqs = max_num_seqs;
  return options;
}

using Times = std::vector<std::vector<std::int64_t>>;

}  // namespace

// Two slots, 16 blocks of 4. At t = 0 two steps go out at once: the first holds what the budget of 8 allows, the
// second, planned before the first has run, the rest of B's prompt. B's third token is planned into the step
// that runs from 3 to 4; it keeps its slot and its three blocks until 4, when the step from 4 to 5 is already
// planned. So C starts at 5: one step later than without. Free blocks are those after the plan of the line's step.
TEST_CASE("async: slot and blocks of a request that ends come back one step later") {
  Spec spec{{{"A", 0, 6, 5}, {"B", 0, 9, 3}, {"C", 1, 5, 4}}, 16, 4, budget_of_eight(2), true};
  const Outcomes out = run(spec);
  CHECK(out.steps == std::vector<std::string>{"t=0 A:P6 B:P2 free=13", "t=1 A:D B:P7 free=11", "t=2 A:D B:D free=11",
                                              "t=3 A:D B:D free=10", "t=4 A:D free=10", "t=5 C:P5 free=11",
                                              "t=6 C:D free=14", "t=7 C:D free=14", "t=8 C:D free=14"});
  CHECK(out.emitted_at == Times{{1, 2, 3, 4, 5}, {2, 3, 4}, {6, 7, 8, 9}});

  spec.async = false;
  CHECK(run(spec).emitted_at == Times{{1, 2, 3, 4, 5}, {2, 3, 4}, {5, 6, 7, 8}});
}

// Steps of 2 s. C arrives at 3, while the step from 2 to 4 runs; the step from 4 to 6 was planned at 2. C is
// planned at 4, runs from 6 to 8 and emits at 8; without asynchronous scheduling it emits at 6.
TEST_CASE("async: who arrives during a step waits for its end and for the whole of the next") {
  Spec spec{{{"A", 0, 6, 6}, {"C", 3, 5, 2}}, 16, 4, budget_of_eight(4), true, 2};
  CHECK(run(spec).emitted_at == Times{{2, 4, 6, 8, 10, 12}, {8, 10}});

  spec.async = false;
  CHECK(run(spec).emitted_at == Times{{2, 4, 6, 8, 10, 12}, {6, 8}});
}

// Memory for 3 blocks of 4. A (prompt 6) takes 2, B (prompt 4) takes 1. The second step, planned at 0, feeds A's first
// token (position 7, still 2 blocks) and would feed B's (position 5, a second block): none is free, so B preempts
// itself although its first token is still being computed. That token comes at 1 all the same. B then holds 5 tokens
// to recompute, 2 blocks, and one is free until A has ended at 3: B runs from 3 (its second token at 4) and, planned
// at the same instant because nothing else is in flight, from 4 (its third at 5).
TEST_CASE("async: a token in flight outlives its sequence's preemption") {
  Spec spec{{{"A", 0, 6, 3}, {"B", 0, 4, 3}}, 3, 4, VllmV1Options{}, true};
  const Outcomes out = run(spec);
  CHECK(out.emitted_at == Times{{1, 2, 3}, {1, 4, 5}});
  CHECK(out.result.preemptions == 1);
}

// A budget of 2: A and B decode, C waits for it. A's third and last token is planned at 1 into the step from 2 to 3.
// The plan made at 2 therefore has one token of its budget left, and C runs from 3 to 4, although A has not ended when
// it is made.
TEST_CASE("async: a request whose last token is planned leaves its share of the next step's budget to others") {
  VllmV1Options options;
  options.max_num_batched_tokens = Tokens{2};
  const Outcomes out = run({{{"A", 0, 1, 3}, {"B", 0, 1, 5}, {"C", 0, 1, 1}}, 16, 4, options, true});
  CHECK(out.emitted_at == Times{{1, 2, 3}, {1, 2, 3, 4, 5}, {4}});
}
