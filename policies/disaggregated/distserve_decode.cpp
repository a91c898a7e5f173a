#include "policies/disaggregated/distserve.hpp"

namespace servecast {

void DistserveDecode::next_batch(ReplicaView& replica, SimTime /*now*/, Batch& batch) {
  while (replica.decode_growth() > replica.free_blocks()) replica.swap_out(batch, replica.last_running());
  while (admit(replica, batch)) {
  }
  replica.decode_all(batch);
  const bool nobody_waits = !replica.has_swapped() && !replica.has_ready();
  if (batch.decode_all && nobody_waits) batch.steady_above = Blocks{0};
}

// Lets one more decode: those swapped out before those that have just come, unless nothing runs that could make room
// for them. The rule for those that have come counts the head's blocks twice, as one that has them already and as one
// that is to get them; only alone, where it would wait for ever, once.
bool DistserveDecode::admit(ReplicaView& replica, Batch& batch) const {
  if (!replica.has_swapped() && !replica.has_ready()) return false;
  const std::int64_t running = replica.running_count();
  const bool alone = replica.running_in_all() == 0;
  if (running >= options_.decode_max_batch || Tokens{running + 1} > options_.decode_max_tokens) return false;
  const Blocks left = replica.free_blocks() - replica.decode_growth();
  if (replica.has_swapped()) {
    if (replica.blocks_of(replica.swapped_head().to_prefill()) <= left) {
      replica.swap_in(batch);
      return true;
    }
    if (!alone || !replica.has_ready()) return false;
  }
  const RequestView head = replica.ready_head();
  Blocks need = replica.blocks_of(head.to_prefill());
  if (alone) need -= replica.blocks_of(head.to_prefill() - Tokens{1});
  if (need > left) return false;
  replica.join_ready(RunningOrder::kAdmission);
  return true;
}

}  // namespace servecast
