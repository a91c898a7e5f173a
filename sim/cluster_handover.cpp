// From prefill to decode: who decodes a request, and its KV on the way there.
#include <algorithm>
#include <cmath>

#include "sim/cluster.hpp"

namespace servecast {

void Cluster::make_decode(const ClusterConfig& config) {
  const auto replicas = static_cast<std::uint32_t>(specs_.size());
  if (config.placing != nullptr) {
    Placing& placing = *config.placing;
    decode_.emplace(
        Decode{.network = placing.network, .loads = ReplicaLoads(replicas, std::nullopt, true), .placing = &placing});
  } else if (config.disaggregation != nullptr) {
    Router& among = config.disaggregation->router;
    decode_.emplace(Decode{.network = config.disaggregation->network,
                           .loads = ReplicaLoads(replicas, among.looks_at(), true),
                           .router = &among});
  }
}

void Cluster::place(std::uint32_t request) {
  const Destinations at = decode_->placing->dispatcher.place(routed(request), loads_.view());
  requests_[request].leaves = at.prefill != at.decode;
  requests_[request].decodes_at = at.decode;
  send(at.prefill, request);
}

void Cluster::reached(std::uint32_t request, Milestone milestone) {
  if (decode_ && decode_->placing != nullptr) decode_->placing->dispatcher.reached(RequestId{request}, milestone);
}

void Cluster::prefilled(RequestId request) { reached(static_cast<std::uint32_t>(request), Milestone::kPrefilled); }

void Cluster::handed_over(const Handover& handover, SimTime at) {
  now_ = at;
  ++node(handover.from).handed_over;
  loads_.ended(handover.from, requests_[handover.request].prompt);
  reached(handover.request, Milestone::kPrefilled);
  hand_on(handover, at);
  if (!held_.empty()) pull_at_ = std::min(pull_at_, at);  // a slot of the shared queue
  next_ = std::min(next_, next_interaction().at);
}

// It waits in front of all that decode while there is none.
void Cluster::hand_on(const Handover& handover, SimTime at) {
  Request& request = requests_[handover.request];
  if (!request.leaves && decode_->loads.view().count() == 0) {
    decode_->stranded.push_back(handover);
    return;
  }
  const ReplicaId to =
      request.leaves ? request.decodes_at : *decode_->router->route(routed(handover.request), decode_->loads.view());
  request.leaves = false;
  ++node(to).sent;
  decode_->loads.sent(to, requests_[handover.request].prompt);
  if (!node(to).replica->offer(handover, at)) release(handover, at);
  refresh(to);
  next_ = std::min(next_, events_[index_of(to)].at);
}

void Cluster::hand_on_stranded() {
  while (!decode_->stranded.empty()) {
    const Handover first = decode_->stranded.front();
    decode_->stranded.pop_front();
    hand_on(first, now_);
  }
}

void Cluster::pulls(ReplicaId to, SeqId sequence, const Handover& handover, SimTime at) {
  now_ = at;
  const Bytes left = left_to_send(handover, at);
  const TransferId id = decode_->network.start(at, handover.from, to, left);
  decode_->on_the_way.emplace(id, Transfer{handover, to, sequence, left});
  ++moved_.transfers;
  moved_.started += handover.bytes;
  next_ = std::min(next_, next_interaction().at);
}

// Parts went out while the next ones were computed, as if no other transfer ran; where there was no memory for them
// when the prompt was done, none did. The last part is always left.
Bytes Cluster::left_to_send(const Handover& handover, SimTime at) const {
  const Placing* placing = decode_->placing;
  if (placing == nullptr || placing->layers == 1 || at != handover.at) return handover.bytes;
  const double alone = seconds(placing->network.alone(handover.bytes));
  const double in_time = alone > 0 ? std::min(1.0, seconds(handover.computed) / alone) : 1.0;
  const double before_last = 1.0 - 1.0 / static_cast<double>(placing->layers);
  return Bytes{std::llround(std::ceil(static_cast<double>(handover.bytes.count()) * (1.0 - before_last * in_time)))};
}

void Cluster::transfers_due() {
  for (const TransferId id : decode_->network.ended_by(now_)) {
    const auto found = decode_->on_the_way.find(id);
    const Transfer transfer = found->second;
    decode_->on_the_way.erase(found);
    moved_.arrived += transfer.handover.bytes;
    moved_.ahead += transfer.handover.bytes - transfer.sent;
    reached(transfer.handover.request, Milestone::kMoved);
    release(transfer.handover, now_);
    node(transfer.to).replica->received(transfer.sequence, now_);
    refresh(transfer.to);
  }
}

void Cluster::release(const Handover& handover, SimTime at) {
  node(handover.from).replica->release_handed(handover.sequence, at);
  refresh(handover.from);
}

// As if it had never been handed over to `to`.
void Cluster::give_back(const Handover& handover, ReplicaId to) {
  --node(to).sent;
  decode_->loads.ended(to, requests_[handover.request].prompt);
}

// One end has failed. The other one frees what it held for it; what the prefill replica had is lost with it, and what
// the decode replica was to have was counted among what it lost.
void Cluster::cut_transfers(ReplicaId failed, const RetryPolicy& retry) {
  for (auto each = decode_->on_the_way.begin(); each != decode_->on_the_way.end();) {
    const auto [id, transfer] = *each;
    if (transfer.handover.from != failed && transfer.to != failed) {
      ++each;
      continue;
    }
    each = decode_->on_the_way.erase(each);
    decode_->network.cut(now_, id);
    moved_.cut += transfer.handover.bytes;
    if (transfer.to == failed) {
      release(transfer.handover, now_);
      continue;
    }
    node(transfer.to).replica->give_up(transfer.sequence, now_);
    refresh(transfer.to);
    give_back(transfer.handover, transfer.to);
    --node(failed).handed_over;
    lose(failed, {transfer.handover.request, 0}, retry);
  }
}

// What a replica has prefilled and nobody has pulled is lost when it fails.
void Cluster::withdraw(ReplicaId failed, const RetryPolicy& retry) {
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i]->role != Role::kDecode) continue;
    for (const Handover& offered : nodes_[i]->replica->withdraw(failed, now_)) {
      give_back(offered, ReplicaId{i});
      --node(failed).handed_over;
      lose(failed, {offered.request, 0}, retry);
    }
    refresh(ReplicaId{i});
  }
  for (const Handover& stranded : decode_->stranded) {
    if (stranded.from != failed) continue;
    requests_[stranded.request].time_in(Cause::kTransferWait) += now_.time_since_epoch();
    --node(failed).handed_over;
    lose(failed, {stranded.request, 0}, retry);
  }
  std::erase_if(decode_->stranded, [&](const Handover& stranded) { return stranded.from == failed; });
}

}  // namespace servecast
