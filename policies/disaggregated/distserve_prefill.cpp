#include "policies/disaggregated/distserve.hpp"

namespace servecast {

void DistservePrefill::next_batch(ReplicaView& replica, SimTime /*now*/, Batch& batch) {
  Tokens planned;
  while (replica.has_waiting()) {
    const Tokens tokens = replica.head().to_prefill();
    const Blocks need = replica.blocks_of(tokens);
    if (tokens > options_.prefill_max_tokens) {
      replica.refuse_head(Refusal::kTokenBudget);
      continue;
    }
    if (replica.running_count() >= options_.prefill_max_batch) {
      batch.blocked_by = Blocker::kSlot;
      return;
    }
    if (planned + tokens > options_.prefill_max_tokens) {
      batch.blocked_by = Blocker::kBudget;
      return;
    }
    if (need > replica.free_blocks()) {
      batch.blocked_by = Blocker::kMemory;
      return;
    }
    replica.admit_head(batch, need, tokens, RunningOrder::kAdmission);
    planned += tokens;
  }
}

}  // namespace servecast
