// DistServe's own simulator on traces worked by hand: a replica that prefills and one that decodes, steps of one
// second.
#include <doctest/doctest.h>

#include "policies/disaggregated/simdistserve.hpp"
#include "tests/support/pool_run.hpp"

using namespace servecast;
using namespace servecast::test;

namespace {

using Times = std::vector<std::vector<std::int64_t>>;

DistserveOptions as_simdistserve() {
  DistserveOptions options;
  options.prefill_max_tokens = Tokens{100'000};
  options.as_simdistserve = true;
  return options;
}

}  // namespace

TEST_CASE("simdistserve decodes all that it has while their contexts fit its budget, as the engine does") {
  PoolSpec spec;
  spec.requests = {{"A", 0, 6, 5}, {"B", 0, 9, 3}, {"C", 1, 5, 4}};
  PoolOutcomes engine, simulator;
  run(spec, engine);
  spec.options = as_simdistserve();
  spec.pull.waiting_share = 1;
  run(spec, simulator);
  CHECK(simulator.emitted_at == engine.emitted_at);
}

// 50,000 tokens of context a step. All three are prefilled in the first second.
//   1 A (30,001) leaves no room for B (30,001), and C does not overtake it
//   2 B and C (30,001 + 10,001); A, which ran, is behind them
//   3 A (30,002) alone again: its third token, the last
//   4 B and C
TEST_CASE("simdistserve: beyond 50,000 tokens of context the first in the queue run, and go to its end") {
  PoolSpec spec;
  spec.requests = {{"A", 0, 30'000, 3}, {"B", 0, 30'000, 3}, {"C", 0, 10'000, 3}};
  spec.options = as_simdistserve();
  spec.prefill_blocks = spec.decode_blocks = 20'000;
  spec.pull.waiting_share = 1;
  PoolOutcomes out;
  run(spec, out);
  CHECK(out.emitted_at == Times{{1, 2, 4}, {1, 3, 5}, {1, 3, 5}});
}

// D's prompt is done while A decodes alone: it comes behind B, which waits, and before A.
TEST_CASE("simdistserve: who comes while a step runs is behind those that wait and before those that ran") {
  PoolSpec spec;
  spec.requests = {{"A", 0, 30'000, 3}, {"B", 0, 30'000, 3}, {"D", 1, 10'000, 2}};
  spec.options = as_simdistserve();
  spec.prefill_blocks = spec.decode_blocks = 20'000;
  spec.pull.waiting_share = 1;
  PoolOutcomes out;
  run(spec, out);
  CHECK(out.emitted_at == Times{{1, 2, 4}, {1, 3, 5}, {2, 3}});
}

TEST_CASE("simdistserve: a context beyond the whole budget runs alone instead of waiting for ever") {
  PoolSpec spec;
  spec.requests = {{"A", 0, 60'000, 2}, {"B", 0, 8, 2}};
  spec.options = as_simdistserve();
  spec.prefill_blocks = spec.decode_blocks = 20'000;
  spec.pull.waiting_share = 1;
  PoolOutcomes out;
  run(spec, out);
  CHECK(out.emitted_at == Times{{1, 2}, {1, 3}});
}

TEST_CASE("simdistserve: each request has a token more than it was asked for") {
  const std::vector<Spec::Req> requests{{"A", 0, 6, 5}};
  ListSource source(requests);
  OneTokenMore longer(source);
  const std::optional<Arrival> arrival = longer.next();
  REQUIRE(arrival);
  CHECK(arrival->output == Tokens{6});
  CHECK(arrival->max_tokens == Tokens{6});
  CHECK(arrival->prompt == Tokens{6});
  CHECK_FALSE(longer.next());
}
