// Requests that change replicas between prefill and decode, seen from both ends.
#include <algorithm>

#include "sim/replica.hpp"

namespace servecast {

// The prompt is done and its token stamped; the blocks stay until they have been pulled.
void Replica::hand_over(SeqId id, SimTime now) {
  const Sequence& sequence = state_.sequences[id];
  const std::uint32_t index = sequence.request;
  state_.leave(id);
  ++state_.changes;
  scheduler_.on_finish();
  handed_.blocks += Blocks{state_.owned_blocks(sequence)};
  handed_.tokens += sequence.computed;
  state_.requests[index].time_in(Cause::kTransferWait) -= now.time_since_epoch();
  const Bytes bytes = config_.block_bytes * state_.kv.blocks_of(Tokens{state_.requests[index].prompt}).count();
  outside_.handed_over({index, id_, id, bytes}, now);
}

void Replica::release_handed(SeqId id, SimTime now) {
  const Sequence& sequence = state_.sequences[id];
  const Blocks blocks{state_.owned_blocks(sequence)};
  integrate(now);
  handed_.blocks -= blocks;
  handed_.tokens -= sequence.computed;
  state_.kv_tokens -= sequence.computed;
  state_.give(id, blocks);
  state_.sequences.release(id);
  ++state_.changes;
  scheduler_.on_finish();
  if (has_free_slot()) ask_to_schedule(now);
}

bool Replica::offer(const Handover& handover, SimTime now) {
  Request& request = state_.requests[handover.request];
  request.replica = id_;
  if (state_.kv.blocks_of(Tokens{std::int64_t{request.prompt} + 1}) > state_.kv.usable()) {
    request.refusal = Refusal::kCache;
    request.time_in(Cause::kTransferWait) += now.time_since_epoch();
    close_request(handover.request, now);
    return false;
  }
  offered_.push_back(handover);
  if (has_free_slot() && !awaits_) queue_.post(now + config_.pull.idle_poll, EventKind::kPull);
  return true;
}

bool Replica::may_pull(Blocks blocks) const {
  const double most = config_.pull.waiting_share * static_cast<double>(state_.kv.usable().count());
  return static_cast<double>(state_.arriving.count()) < most && blocks <= state_.kv.free();
}

// Asked whenever no step runs and no transfer is waited for; those offered come first come, first served.
void Replica::pull(SimTime now) {
  if (!has_free_slot() || awaits_) return;
  while (!offered_.empty() && !awaits_) {
    const Handover& head = offered_.front();
    const Tokens prompt{state_.requests[head.request].prompt};
    const Blocks blocks = state_.kv.blocks_of(prompt);
    if (!may_pull(blocks)) break;
    integrate(now);
    const SeqId id = state_.sequences.acquire();
    Sequence& sequence = state_.sequences[id];
    sequence.request = head.request;
    sequence.phase = Sequence::Phase::kArriving;
    sequence.placed = false;
    sequence.computed = prompt.count();
    sequence.blocks = blocks.count();
    state_.take(id, blocks);
    state_.kv_tokens += prompt.count();
    state_.arriving += blocks;
    coming_.push_back(id);
    Request& request = state_.requests[head.request];
    request.time_in(Cause::kTransferWait) += now.time_since_epoch();
    request.time_in(Cause::kTransfer) -= now.time_since_epoch();
    awaits_ = !config_.pull.overlapped;
    outside_.pulls(id_, id, head, now);
    offered_.pop_front();
  }
  if (!awaits_) ask_to_schedule(now);
}

void Replica::received(SeqId id, SimTime now) {
  std::erase(coming_, id);
  Request& request = state_.requests[state_.sequences[id].request];
  request.time_in(Cause::kTransfer) += now.time_since_epoch();
  request.time_in(Cause::kDecodeWait) -= now.time_since_epoch();
  received_.push_back(id);
  awaits_ = false;
  if (has_free_slot()) queue_.post(now, EventKind::kPull);
}

void Replica::settle_handed(SimTime now) {
  const auto settle = [&](std::uint32_t index, Cause cause) {
    state_.requests[index].time_in(cause) += now.time_since_epoch();
    check_causes(index, now);
  };
  for (const Handover& offered : offered_) settle(offered.request, Cause::kTransferWait);
  for (const SeqId id : coming_) settle(state_.sequences[id].request, Cause::kTransfer);
  for (const SeqId id : received_) settle(state_.sequences[id].request, Cause::kDecodeWait);
  for (const SeqId id : state_.ready) settle(state_.sequences[id].request, Cause::kDecodeWait);
  for (const ReplicaState::Swapped& out : state_.swapped) settle(out.request, Cause::kPreempted);
}

std::int64_t Replica::arriving_tokens() const {
  std::int64_t tokens = 0;
  for (const SeqId id : coming_) tokens += state_.sequences[id].computed;
  for (const SeqId id : received_) tokens += state_.sequences[id].computed;
  for (const SeqId id : state_.ready) tokens += state_.sequences[id].computed;
  return tokens;
}

}  // namespace servecast
