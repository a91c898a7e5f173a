// From prefill to decode: who decodes a request, and its KV on the way there.
#include <algorithm>

#include "sim/cluster.hpp"

namespace servecast {

void Cluster::handed_over(const Handover& handover, SimTime at) {
  now_ = at;
  const Tokens prompt{requests_[handover.request].prompt};
  ++node(handover.from).handed_over;
  loads_.ended(handover.from, prompt.count());
  const ReplicaId to = *decode_->router.route(routed(handover.request), decode_->loads.view());
  ++node(to).sent;
  decode_->loads.sent(to, prompt.count());
  if (!node(to).replica->offer(handover, at)) release(handover, at);
  refresh(to);
  if (!held_.empty()) pull_at_ = std::min(pull_at_, at);  // a slot of the shared queue
  next_ = std::min({next_, events_[index_of(to)].at, next_interaction().at});
}

void Cluster::pulls(ReplicaId to, SeqId sequence, const Handover& handover, SimTime at) {
  now_ = at;
  const TransferId id = decode_->network.start(at, handover.from, to, handover.bytes);
  decode_->on_the_way.emplace(id, Transfer{handover, to, sequence});
  ++moved_.transfers;
  moved_.started += handover.bytes;
  next_ = std::min(next_, next_interaction().at);
}

void Cluster::transfers_due() {
  for (const TransferId id : decode_->network.ended_by(now_)) {
    const auto found = decode_->on_the_way.find(id);
    const Transfer transfer = found->second;
    decode_->on_the_way.erase(found);
    moved_.arrived += transfer.handover.bytes;
    release(transfer.handover, now_);
    node(transfer.to).replica->received(transfer.sequence, now_);
    refresh(transfer.to);
  }
}

void Cluster::release(const Handover& handover, SimTime at) {
  node(handover.from).replica->release_handed(handover.sequence, at);
  refresh(handover.from);
}

}  // namespace servecast
