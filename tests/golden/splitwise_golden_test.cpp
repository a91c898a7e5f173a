// Splitwise on traces worked by hand: machine 0 of the prompt pool, machine 1 of the token pool, steps of one second,
// blocks of 4 tokens and 1,000 bytes.
#include <doctest/doctest.h>

#include "tests/support/causes.hpp"
#include "tests/support/placed_run.hpp"

using namespace servecast;
using namespace servecast::test;

namespace {

using Lines = std::vector<std::string>;
using Times = std::vector<std::vector<std::int64_t>>;

SimTime at_ms(std::int64_t ms) { return SimTime{std::chrono::milliseconds{ms}}; }

// A's KV is 2,000 bytes, its prompt is done at 1, and two more tokens take 2 s.
SimTime end_of_A(double bytes_per_second, std::int64_t layers) {
  PlacedSpec spec;
  spec.requests = {{"A", 0, 8, 3}};
  spec.bytes_per_second = bytes_per_second;
  spec.layers = layers;
  PlacedOutcomes out;
  run(spec, out);
  CHECK(out.table[0].first_token_at == at_second(1));
  CHECK(out.table[0].replica == ReplicaId{1});
  CHECK(out.result.moved.arrived == Bytes{2000});
  return out.table[0].last_token_at;
}

}  // namespace

// A second for all of it. Layer by layer over 4 layers: the first three go out while the prompt is computed.
// Four seconds: the first layer is ready at 0.25, and all has gone out 4 s later.
TEST_CASE("KV leaves after the prompt, or layer by layer while it is computed") {
  CHECK(end_of_A(2000, 1) == at_ms(2000 + 2000));
  CHECK(end_of_A(2000, 4) == at_ms(1250 + 2000));
  CHECK(end_of_A(500, 4) == at_ms(250 + 4000 + 2000));
  CHECK(end_of_A(500, 1) == at_ms(1000 + 4000 + 2000));
}

// A waits at machine 0 with 8 tokens pending when B comes: 8 + 8 are more than 10. Machine 1, to which B's answer goes,
// computes its prompt too. Then C finds 8 pending tokens at machine 0 and 10 at machine 1 (B's prompt, two answers):
// nobody has room in the queue, nobody is left to be borrowed, and the least loaded, machine 0, does all of it.
// A's KV takes no time.
TEST_CASE("where the prompt pool's queue is long, the token pool computes prompts; where both are, one does all") {
  PlacedSpec spec;
  spec.requests = {{"A", 0, 8, 2}, {"B", 0, 8, 2}, {"C", 0, 8, 2}, {"D", 3, 8, 2}};
  spec.options.max_pending_tokens = Tokens{10};
  PlacedOutcomes out;
  run(spec, out);
  CHECK(out.steps[0] == Lines{"t=0 A:P8 C:P8 free=995", "t=1 C:D free=997", "t=3 D:P8 free=998"});
  CHECK(out.steps[1] == Lines{"t=0 B:P8 free=997", "t=1 A:D B:D free=994", "t=4 D:D free=997"});
  CHECK(out.emitted_at == Times{{1, 2}, {1, 2}, {1, 2}, {4, 5}});
  CHECK(out.result.moved.transfers == 2);  // of A and D
  CHECK(text_of_causes(out.table[0]) == "prefill=1.0 decode=1.0");
}

// One machine, 10 tokens a step. Prompts of 10 tokens come every second and leave A no room; the fifth has to wait for
// A, which has been left out of four steps, and is then left out once more.
TEST_CASE("prompts go before decodes, but for those that were left out of four steps") {
  PlacedSpec spec;
  spec.requests = {{"A", 0, 4, 3}, {"B", 1, 10, 1}, {"C", 2, 10, 1}, {"D", 3, 10, 1}, {"E", 4, 10, 1}, {"F", 5, 10, 1}};
  spec.options.max_batch_tokens = Tokens{10};
  spec.tokens = 0;
  PlacedOutcomes out;
  run(spec, out);
  CHECK(out.steps[0] == Lines{"t=0 A:P4 free=998", "t=1 B:P10 free=995", "t=2 C:P10 free=995", "t=3 D:P10 free=995",
                              "t=4 E:P10 free=995", "t=5 A:D free=998", "t=6 F:P10 free=995", "t=7 A:D free=998"});
  CHECK(out.emitted_at[0] == std::vector<std::int64_t>{1, 6, 8});
  CHECK(text_of_causes(out.table[0]) == "prefill=1.0 decode=2.0 stalled=5.0");
  CHECK(text_of_causes(out.table[5]) == "wait_budget=1.0 prefill=1.0");
}

// 16 tokens of memory each: A's prompt and answer are 12 of machine 1's, B's would be 10. Its answer goes to machine 0,
// where its prompt is computed as well.
TEST_CASE("where the token pool has no memory for an answer, a machine of the prompt pool decodes it") {
  PlacedSpec spec;
  spec.requests = {{"A", 0, 8, 4}, {"B", 1, 8, 2}};
  spec.blocks = 4;
  PlacedOutcomes out;
  run(spec, out);
  CHECK(out.table[0].replica == ReplicaId{1});
  CHECK(out.table[1].replica == ReplicaId{0});
  CHECK(out.result.moved.transfers == 1);
  CHECK(out.emitted_at == Times{{1, 2, 3, 4}, {2, 3}});
}

TEST_CASE("a prompt beyond the budget runs alone") {
  PlacedSpec spec;
  spec.requests = {{"A", 0, 12, 2}, {"B", 0, 12, 1}};
  spec.options.max_batch_tokens = Tokens{10};
  PlacedOutcomes out;
  run(spec, out);
  CHECK(out.steps[0] == Lines{"t=0 A:P12 free=997", "t=1 B:P12 free=997"});
}
