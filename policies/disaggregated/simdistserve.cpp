#include "policies/disaggregated/simdistserve.hpp"

#include <algorithm>

namespace servecast {

// Those that did not run, those that came, those that ran and have not ended.
void SimdistserveDecode::requeue(ReplicaView& replica, Queue& queue) {
  std::erase_if(queue, [&](const Queued& each) {
    return !replica.decodes(each.sequence) || replica.request(each.sequence).id != each.request;
  });
  Queue ran;
  std::copy_if(queue.begin(), queue.end(), std::back_inserter(ran), [](const Queued& each) { return each.ran; });
  std::erase_if(queue, [](const Queued& each) { return each.ran; });
  while (replica.has_ready()) {
    const RequestId request = replica.ready_head().id;
    replica.join_ready(RunningOrder::kAdmission);
    queue.push_back({replica.last_running(), request});
  }
  for (Queued& each : ran) {
    each.ran = false;
    queue.push_back(each);
  }
}

std::size_t SimdistserveDecode::those_that_fit(const ReplicaView& replica, const Queue& queue) const {
  Tokens left = context_budget_;
  std::size_t count = 0;
  for (const Queued& each : queue) {
    const Tokens context = replica.request(each.sequence).to_prefill();
    if (context > left && count > 0) break;
    left -= context;
    ++count;
  }
  return count;
}

void SimdistserveDecode::next_batch(ReplicaView& replica, SimTime /*now*/, Batch& batch) {
  if (queues_.size() < replica.slots()) queues_.resize(replica.slots());
  Queue& queue = queues_[replica.slot()];
  requeue(replica, queue);
  const std::size_t count = those_that_fit(replica, queue);
  for (std::size_t i = 0; i < count; ++i) queue[i].ran = true;
  if (count == queue.size()) return replica.decode_all(batch);
  for (std::size_t i = 0; i < count; ++i) replica.decode(batch, queue[i].sequence);
}

std::optional<Arrival> OneTokenMore::next() {
  std::optional<Arrival> arrival = source_.next();
  if (!arrival) return arrival;
  arrival->output += Tokens{1};
  arrival->max_tokens += Tokens{1};
  return arrival;
}

}  // namespace servecast
