// Failures of replicas that prefill and of replicas that decode, worked by hand: DistServe, each step lasting one
// second, blocks of 4. What had been delivered is kept and prefilled with the prompt, unless said otherwise.
#include <doctest/doctest.h>

#include "sim/error.hpp"
#include "tests/support/causes.hpp"
#include "tests/support/pool_run.hpp"

using namespace servecast;
using namespace servecast::test;

namespace {

using Lines = std::vector<std::string>;
using Times = std::vector<std::vector<std::int64_t>>;

std::string causes(const PoolOutcomes& out, std::uint32_t request) { return text_of_causes(out.table[request]); }

constexpr RetryPolicy kKept{.delay = Duration{0}, .keeps_tokens = true};

Change fails(std::int64_t second, std::uint32_t replica, const RetryPolicy& retry = kKept) {
  return {at_second(second), ChangeKind::kFails, ReplicaId{replica}, Duration{0}, retry};
}
Change joins(std::int64_t second, std::uint32_t replica) {
  return {at_second(second), ChangeKind::kJoins, ReplicaId{replica}};
}

}  // namespace

// Transfers take no time. The replica that decodes fails at 2, with A's tokens 1 and 2 out, and is back at 4.
//   2 prefill A's 8 + 2 tokens, 3 blocks
//   3 token 3; nobody decodes until 4
//   4 pulled, and decoded: tokens 4 at 5 and 5 at 6
TEST_CASE("what a failed replica decoded goes back through prefill, and waits there until one decodes again") {
  Membership membership;
  membership.changes = {fails(2, 1), joins(4, 1)};
  PoolSpec spec;
  spec.requests = {{"A", 0, 8, 5}};
  spec.membership = &membership;
  PoolOutcomes out;
  run(spec, out);
  CHECK(out.steps[0] == Lines{"t=0 A:P8 free=998", "t=2 A:P10 free=997"});
  CHECK(out.emitted_at == Times{{1, 3, 2, 5, 6}});  // by replica
  CHECK(out.table[0].first_token_at == at_second(1));
  CHECK(causes(out, 0) == "prefill=1.0 decode=3.0 recompute=1.0 wait_transfer=1.0");
  CHECK(out.result.moved.arrived == Bytes{2 + 3});

  membership.changes[0].retry = {};
  PoolOutcomes anew;
  run(spec, anew);
  CHECK(anew.emitted_at == Times{{1, 3, 2, 5, 6, 7, 8}});
  CHECK(anew.table[0].first_token_at == at_second(3));
  CHECK(anew.result.moved.arrived == Bytes{2 + 2});
}

// 4 blocks to prefill, 8 to decode; a second for each block on the way; pulled while fewer than 4 blocks wait. The
// replica that prefills fails at 2 and is back at 5: A is on the way (1 to 3), B has been prefilled, C has not.
//   5 prefill A's 8 + 1 tokens (3 blocks: neither B, which needs 3, nor C behind it)
//   6 token 2 of A; pull A until 9
//   9 A decodes; prefill B's 8 + 1 tokens and C's 4
//  10 token 3 of A, its last; token 2 of B, token 1 of C; pull B until 13
//  13 B waits with 3 blocks (fewer than 4): pull C until 14
//  14 B and C decode: their last tokens at 15
TEST_CASE("a failed replica that prefilled loses what waits, what nobody has pulled, and what is on the way") {
  Membership membership;
  membership.changes = {fails(2, 0), joins(5, 0)};
  PoolSpec spec;
  spec.requests = {{"A", 0, 8, 3}, {"B", 0, 8, 3}, {"C", 1, 4, 2}};
  spec.prefill_blocks = 4;
  spec.decode_blocks = 8;
  spec.pull.waiting_share = 0.5;
  spec.blocks_per_second = 1;
  spec.membership = &membership;
  PoolOutcomes out;
  run(spec, out);
  CHECK(out.steps[0] == Lines{"t=0 A:P8 B:P8 free=0", "t=5 A:P9 free=1", "t=9 B:P9 C:P4 free=0"});
  CHECK(out.emitted_at == Times{{1, 6, 10}, {1, 10, 15}, {10, 15}});
  CHECK(causes(out, 0) == "wait_slot=3.0 prefill=1.0 decode=1.0 recompute=1.0 transfer=4.0");
  CHECK(causes(out, 1) ==
        "wait_slot=3.0 wait_memory=4.0 prefill=1.0 decode=1.0 recompute=1.0 wait_transfer=1.0 transfer=3.0 "
        "wait_decode=1.0");
  CHECK(causes(out, 2) == "wait_slot=3.0 wait_memory=5.0 decode=1.0 recompute=1.0 wait_transfer=3.0 transfer=1.0");
  CHECK(out.result.replicas[0].lost == 3);
  CHECK(out.result.moved.transfers == 4);
  CHECK(out.result.moved.cut == Bytes{2});
  CHECK(out.result.moved.arrived == Bytes{3 + 3 + 1});
}

// Two decode: A and C are handed to replica 1, B to replica 2. At 2 replica 1 fails: A is on the way to it (1 to 3), C
// has not been pulled and goes to replica 2, which pulls it until 3, and A, prefilled anew, until 6.
TEST_CASE("a failed replica that decodes loses what is on the way to it, and not what it has not pulled") {
  Membership membership;
  membership.changes = {fails(2, 1)};
  PoolSpec spec;
  spec.requests = {{"A", 0, 8, 3}, {"B", 0, 4, 3}, {"C", 0, 4, 2}};
  spec.decodes = 2;
  spec.pull.waiting_share = 1;
  spec.blocks_per_second = 1;
  spec.membership = &membership;
  PoolOutcomes out;
  run(spec, out);
  CHECK(out.steps[0] == Lines{"t=0 A:P8 B:P4 C:P4 free=996", "t=2 A:P9 free=996"});  // C's block is still there
  CHECK(out.emitted_at == Times{{1, 3, 7}, {1, 7, 8}, {1, 7}});
  CHECK(causes(out, 0) == "prefill=1.0 decode=1.0 recompute=1.0 transfer=4.0");
  CHECK(causes(out, 2) == "prefill=1.0 decode=1.0 wait_transfer=1.0 transfer=1.0 wait_decode=3.0");
  CHECK(out.result.replicas[1].lost == 1);
  CHECK(out.result.replicas[1].requests == 1);
  CHECK(out.result.replicas[2].requests == 3);
}

// 6 blocks to decode. A and B decode; at 5 B is swapped out, at 6 the replica fails and is back at once.
TEST_CASE("a failed replica loses what it had swapped out") {
  Membership membership;
  membership.changes = {fails(6, 1), joins(6, 1)};
  PoolSpec spec;
  spec.requests = {{"A", 0, 8, 7}, {"B", 0, 4, 7}};
  spec.decode_blocks = 6;
  spec.pull.waiting_share = 1;
  spec.membership = &membership;
  PoolOutcomes out;
  run(spec, out);
  CHECK(out.result.preemptions >= 1);
  CHECK(out.result.replicas[1].lost == 2);
  CHECK(out.steps[0] == Lines{"t=0 A:P8 B:P4 free=997", "t=6 A:P14 B:P9 free=993"});
  CHECK(out.table[0].last_token_at == at_second(7));
  CHECK(out.table[1].outcome == Outcome::kCompleted);
}

TEST_CASE("where no replica of a pool is left for good, the run ends with an error that names it") {
  Membership membership;
  membership.changes = {fails(2, 1)};
  PoolSpec spec;
  spec.requests = {{"A", 0, 8, 5}};
  spec.membership = &membership;
  PoolOutcomes out;
  CHECK_THROWS_WITH_AS(run(spec, out), doctest::Contains("1 prefilled ones for one that decodes"), StalledError);
  membership.changes = {fails(0, 0)};
  PoolOutcomes none;
  CHECK_THROWS_WITH_AS(run(spec, none), doctest::Contains("1 requests wait for a replica that prefills"), StalledError);
}
