// DistServe on traces worked by hand: a replica that prefills and one that decodes, each step lasting one second.
#include <doctest/doctest.h>

#include "sim/error.hpp"
#include "tests/support/pool_run.hpp"

using namespace servecast;
using namespace servecast::test;

namespace {

using Lines = std::vector<std::string>;
using Times = std::vector<std::vector<std::int64_t>>;

// Every cause of a request's time that is not zero, in seconds.
std::string causes(const PoolOutcomes& out, std::uint32_t request) {
  std::string text;
  for (std::size_t c = 0; c < kCauses; ++c) {
    const std::int64_t spent = out.seconds_in(request, static_cast<Cause>(c));
    if (spent != 0) text += (text.empty() ? "" : " ") + (name(static_cast<Cause>(c)) + ("=" + std::to_string(spent)));
  }
  return text;
}

}  // namespace

TEST_CASE("G1: DistServe with instant transfers decodes everybody in the step after the prefill") {
  PoolSpec spec;
  spec.requests = {{"A", 0, 6, 5}, {"B", 0, 9, 3}, {"C", 1, 5, 4}};
  PoolOutcomes out;
  run(spec, out);
  CHECK(out.steps[0] == Lines{"t=0 A:P6 B:P9 free=995", "t=1 C:P5 free=998"});
  CHECK(out.steps[1] ==
        Lines{"t=1 A:D B:D free=995", "t=2 A:D B:D C:D free=993", "t=3 A:D C:D free=995", "t=4 A:D C:D free=995"});
  CHECK(out.emitted_at == Times{{1, 2, 3, 4, 5}, {1, 2, 3}, {2, 3, 4, 5}});
  CHECK(out.result.moved.transfers == 3);
  CHECK(out.result.moved.arrived == Bytes{2 + 3 + 2});
}

// Blocks of 4; 4 blocks to prefill, 8 to decode; a second for each block on the way; pulled while fewer than 4 blocks
// wait. The decode replica runs no step while it waits for KV.
//   0 prefill A B (2 + 2 blocks: C finds no memory)
//   1 token 1 of A, B; pull A until 3
//   3 A's 2 blocks are free: prefill C; A waits with 2 blocks (fewer than 4): pull B until 5
//   4 token 1 of C
//   5 A and B wait with 4 blocks: no pull. A joins (alone: one more block of 4 free), B joins (2 + 1 of 4 − 1): step
//   6 token 2 of A, B; they have 3 blocks each; pull C until 7
//   7 C's rule counts 1 + 1 blocks, 1 is free: A and B decode on
//   8 token 3, B's last, frees 3 blocks: C joins
//   9 A's token 4 and C's token 2, their last ones
TEST_CASE("a transfer holds decodes up, and blocks that are not pulled hold prefills up") {
  PoolSpec spec;
  spec.requests = {{"A", 0, 8, 4}, {"B", 0, 8, 3}, {"C", 0, 4, 2}};
  spec.prefill_blocks = 4;
  spec.decode_blocks = 8;
  spec.pull.waiting_share = 0.5;
  spec.blocks_per_second = 1;
  PoolOutcomes out;
  run(spec, out);
  CHECK(out.steps[0] == Lines{"t=0 A:P8 B:P8 free=0", "t=3 C:P4 free=1"});
  CHECK(out.steps[1] == Lines{"t=5 A:D B:D free=2", "t=7 A:D B:D free=1", "t=8 A:D C:D free=3"});
  CHECK(out.emitted_at == Times{{1, 6, 8, 9}, {1, 6, 8}, {4, 9}});
  CHECK(causes(out, 0) == "prefill=1 idle=1 decode=3 transfer=2 wait_decode=2");
  CHECK(causes(out, 1) == "prefill=1 idle=1 decode=2 wait_transfer=2 transfer=2");
  CHECK(causes(out, 2) == "wait_memory=3 prefill=1 decode=1 wait_transfer=2 transfer=1 wait_decode=1");
}

// The same with transfers beside the steps, all at once.
//   1 pull A and B, until 3 (4 blocks are on the way: no more)
//   3 A and B have come and join; the prefill replica has 4 blocks free: prefill C
//   4 token 2 of A, B; token 1 of C; pull C, until 5; A and B decode
//   5 token 3 of A, B, B's last. C's rule counts 1 + 1 blocks: 8 − 3 − 1 = 4 are free: it joins
//   6 A's token 4 and C's token 2
TEST_CASE("transfers that overlap with steps hold nobody up") {
  PoolSpec spec;
  spec.requests = {{"A", 0, 8, 4}, {"B", 0, 8, 3}, {"C", 0, 4, 2}};
  spec.prefill_blocks = 4;
  spec.decode_blocks = 8;
  spec.pull.waiting_share = 0.5;
  spec.pull.overlapped = true;
  spec.blocks_per_second = 1;
  PoolOutcomes out;
  run(spec, out);
  CHECK(out.emitted_at == Times{{1, 4, 5, 6}, {1, 4, 5}, {4, 6}});
  CHECK(causes(out, 2) == "wait_memory=3 prefill=1 decode=1 transfer=1");
}

// 6 blocks to decode; half a second for each block between device and host.
//   1 A and B come (2 + 1 blocks) and join (a block more each): 1 free
//   5 both have 5 tokens, 12 and 8 in the cache, and need a block each: B, the last, is swapped out (2 blocks, 1 s)
//   7 A's token 6, its last; B comes back (2 blocks, 1 s)
//   9 B's token 6
TEST_CASE("where decode memory ends, the last to join is swapped out and comes back first") {
  PoolSpec spec;
  spec.requests = {{"A", 0, 8, 6}, {"B", 0, 4, 6}};
  spec.decode_blocks = 6;
  spec.pull.waiting_share = 1;
  spec.swap_per_block = std::chrono::milliseconds{500};
  PoolOutcomes out;
  run(spec, out);
  CHECK(out.emitted_at == Times{{1, 2, 3, 4, 5, 7}, {1, 2, 3, 4, 5, 9}});
  CHECK(out.result.preemptions == 1);
  CHECK(causes(out, 0) == "prefill=1 decode=5 host=1");
  CHECK(causes(out, 1) == "prefill=1 decode=5 preempted=2 host=1");

  spec.host_blocks = 1;  // no room for B's two
  PoolOutcomes full;
  run(spec, full);
  CHECK(full.table[1].outcome == Outcome::kAborted);
  CHECK(full.table[1].refusal == Refusal::kSwapSpace);
  CHECK(full.emitted_at == Times{{1, 2, 3, 4, 5, 6}, {1, 2, 3, 4, 5}});
}

// 6 blocks of 4 to decode. A runs with 3 of them, B has come and holds the others. At 5 A needs a fourth and is swapped
// out; it does not fit beside B, and nobody runs who could end.
TEST_CASE("where nothing runs, one that has come does not wait for a swapped one that it leaves no room") {
  PoolSpec spec;
  spec.requests = {{"A", 0, 8, 7}, {"B", 0, 12, 3}};
  spec.decode_blocks = 6;
  spec.pull.waiting_share = 1;
  PoolOutcomes out;
  run(spec, out);
  CHECK(out.emitted_at == Times{{1, 2, 3, 4, 5, 8, 9}, {1, 6, 7}});
  CHECK(causes(out, 0) == "prefill=1 decode=6 preempted=2");
  CHECK(causes(out, 1) == "prefill=1 decode=2 wait_decode=4");
}

// A's prompt fills its block, and B's fills the others.
TEST_CASE("where those that have come hold every block and the first needs one more, nothing can move") {
  PoolSpec spec;
  spec.requests = {{"A", 0, 4, 3}, {"B", 0, 20, 3}};
  spec.decode_blocks = 6;
  spec.pull.waiting_share = 1;
  PoolOutcomes out;
  CHECK_THROWS_AS(run(spec, out), StalledError);
}

// 7 blocks to decode at each of two replicas. A runs at the first from 1 on, so B finds both with nobody waiting and
// comes there too, at 3. At 7 B needs a fourth block, but A took the last at 5: B is thrown out and waits until A ends.
// C's prompt is done at 8.
TEST_CASE("who was thrown out counts as waiting to decode") {
  PoolSpec spec;
  spec.options = VllmV1Options{};
  spec.requests = {{"A", 0, 8, 12}, {"B", 2, 8, 12}, {"C", 7, 4, 3}};
  spec.decode_blocks = 7;
  spec.decodes = 2;
  spec.among.kind = RouterKind::kShortestQueue;
  spec.pull.waiting_share = 1;
  PoolOutcomes out;
  run(spec, out);
  CHECK(out.table[0].replica == ReplicaId{1});
  CHECK(out.table[1].replica == ReplicaId{1});
  CHECK(out.table[1].preemptions == 1);
  CHECK(out.table[2].replica == ReplicaId{2});
}
