#include "policies/disaggregated/distserve.hpp"

namespace servecast {

void DistservePrefill::next_batch(ReplicaView& replica, SimTime /*now*/, Batch& batch) {
  Tokens planned;
  while (replica.has_waiting()) {
    const Tokens tokens = replica.head().to_prefill();
    const Blocks need = replica.blocks_of(tokens);
    const bool returning = replica.head().emitted > Tokens{0};
    if (tokens > options_.prefill_max_tokens && !returning) {
      replica.refuse_head(Refusal::kTokenBudget);
      continue;
    }
    if (replica.running_count() >= options_.prefill_max_batch) {
      batch.blocked_by = Blocker::kSlot;
      return;
    }
    // What a failed replica had served comes back with what it had emitted: too long for the limit, it runs alone.
    const bool alone = returning && batch.empty();
    if (planned + tokens > options_.prefill_max_tokens && !alone) {
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
