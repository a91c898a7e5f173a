#include "policies/scheduling/static_batch.hpp"

#include <algorithm>

namespace servecast {

void StaticScheduler::next_batch(ReplicaView& replica, SimTime now, Batch& batch) {
  if (running_.size() < replica.slots()) running_.resize(replica.slots());
  Running& mine = running_[replica.slot()];
  if (replica.running_count() == 0) {
    const bool complete = replica.waiting_count() >= options_.batch_size;
    if (replica.has_waiting() && !complete && options_.wait_for_batch > Duration{0}) {
      const SimTime until = replica.head().arrived_at + options_.wait_for_batch;
      if (now < until) {
        batch.blocked_by = Blocker::kSlot;
        batch.wake_at = until;
        return;
      }
    }
    form(replica, batch, mine);
    return;
  }
  batch.blocked_by = Blocker::kSlot;
  replica.decode_all(batch);
  mine.longest += Tokens{1};
  if (options_.padding) batch.padding = Batch::Padding{mine.size, mine.longest};
}

void StaticScheduler::form(ReplicaView& replica, Batch& batch, Running& made) const {
  const Blocks each = replica.blocks_of(options_.max_len);
  made = {};
  while (replica.has_waiting() && made.size < options_.batch_size) {
    const RequestView head = replica.head();
    if (each > replica.usable_blocks() || head.prompt + head.max_tokens > options_.max_len) {
      replica.refuse_head(each > replica.usable_blocks() ? Refusal::kCache : Refusal::kReservation);
      continue;
    }
    if (each > replica.free_blocks()) {
      batch.blocked_by = Blocker::kMemory;
      break;
    }
    replica.admit_head(batch, each, head.to_prefill(), RunningOrder::kArrival);
    made.longest = std::max(made.longest, head.to_prefill());
    ++made.size;
  }
  if (replica.has_waiting() && batch.blocked_by == Blocker::kNone) batch.blocked_by = Blocker::kSlot;
  if (options_.padding && made.size > 0) batch.padding = Batch::Padding{made.size, made.longest};
}

}  // namespace servecast
