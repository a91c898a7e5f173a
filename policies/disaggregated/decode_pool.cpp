#include "policies/disaggregated/decode_pool.hpp"

namespace servecast {

void DecodePool::next_batch(ReplicaView& replica, SimTime now, Batch& batch) {
  const auto fits = [&] {
    return replica.running_in_all() == 0 || replica.free_blocks().count() > replica.running_in_all();
  };
  const auto running = [&] { return each_slot_ ? replica.running_count() : replica.running_in_all(); };
  while (replica.has_ready() && running() < most_running_ && fits()) replica.join_ready(order_);
  scheduler_->next_batch(replica, now, batch);
  // Whoever is left may fit when less memory is needed than now: nothing that the scheduler could promise.
  if (replica.has_ready()) batch.steady_above.reset();
}

}  // namespace servecast
