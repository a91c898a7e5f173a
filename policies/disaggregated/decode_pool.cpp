#include "policies/disaggregated/decode_pool.hpp"

namespace servecast {

void DecodePool::next_batch(ReplicaView& replica, SimTime now, Batch& batch) {
  const auto fits = [&] {
    return replica.running_count() == 0 || replica.free_blocks().count() > replica.running_count();
  };
  while (replica.has_ready() && replica.running_count() < most_running_ && fits()) replica.join_ready(order_);
  scheduler_->next_batch(replica, now, batch);
  // Whoever is left may fit when less memory is needed than now: nothing that the scheduler could promise.
  if (replica.has_ready()) batch.steady_above.reset();
}

}  // namespace servecast
