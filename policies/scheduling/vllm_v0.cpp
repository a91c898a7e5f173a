#include "policies/scheduling/vllm_v0.hpp"

#include "policies/scheduling/growth.hpp"
#include "policies/scheduling/watermark.hpp"

namespace servecast {

void VllmV0Scheduler::next_batch(ReplicaView& replica, SimTime, Batch& batch) {
  admit_prefills(replica, batch);
  if (!batch.empty()) return;
  decode_with_a_spare_block(replica, batch);
  if (batch.decode_all) batch.steady_above = Blocks{1};
  batch.when_empty = WhenEmpty::kAgain;
}

void VllmV0Scheduler::admit_prefills(ReplicaView& replica, Batch& batch) const {
  const Blocks watermark = watermark_blocks(replica, options_.watermark);
  Tokens planned;
  while (replica.has_waiting()) {
    const RequestView head = replica.head();
    const Tokens tokens = head.to_prefill();
    const bool returning = head.emitted > Tokens{0};
    if (tokens > budget_ && !returning) {
      replica.refuse_head(Refusal::kTokenBudget);
      continue;
    }
    const Blocks need = replica.blocks_of(tokens);
    if (replica.usable_blocks() - need < watermark) {
      replica.refuse_head(Refusal::kCache);
      continue;
    }
    if (replica.running_count() >= options_.max_num_seqs) {
      batch.blocked_by = Blocker::kSlot;
      return;
    }
    if (replica.free_blocks() - need < watermark) {
      batch.blocked_by = Blocker::kMemory;
      return;
    }
    // A recomputed prefill is never cut and never refused: too long for the budget, it runs alone.
    const bool alone = returning && batch.empty();
    if (planned + tokens > budget_ && !alone) {
      batch.blocked_by = Blocker::kBudget;
      return;
    }
    replica.admit_head(batch, need, tokens, RunningOrder::kArrival);
    planned += tokens;
  }
}

}  // namespace servecast
