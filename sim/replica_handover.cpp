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
  const Tokens context{sequence.computed};
  const Bytes bytes = config_.block_bytes * state_.kv.blocks_of(context).count();
  outside_.handed_over({index, id_, id, context, bytes, now, now - state_.lane->slots[state_.lane->current].started_at},
                       now);
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
  if (!offered_.empty()) queue_.post(now, EventKind::kPull);
  if (has_free_slot()) ask_to_schedule(now);
}

// What a request that has been prefilled takes when its KV comes: the KV's blocks, or all that it can ever need.
Blocks Replica::needs_here(const Handover& handover) const {
  if (config_.grows) return state_.kv.blocks_of(handover.context);
  const Request& request = state_.requests[handover.request];
  const Tokens prompt{request.prompt};
  return state_.kv.blocks_of(prompt + std::min(Tokens{request.max_tokens}, config_.max_model_len - prompt));
}

bool Replica::offer(const Handover& handover, SimTime now) {
  Request& request = state_.requests[handover.request];
  request.replica = id_;
  if (std::max(state_.kv.blocks_of(handover.context + Tokens{1}), needs_here(handover)) > state_.kv.usable()) {
    request.refusal = Refusal::kCache;
    request.time_in(Cause::kTransferWait) += now.time_since_epoch();
    close_request(handover.request, now);
    return false;
  }
  offered_.push_back(handover);
  if (config_.pull.pushed) {
    queue_.post(now, EventKind::kPull);
  } else if (has_free_slot() && !awaits_) {
    queue_.post(now + config_.pull.idle_poll, EventKind::kPull);
  }
  return true;
}

bool Replica::may_pull(Blocks blocks) const {
  if (config_.pull.pushed) return blocks <= state_.kv.free();
  const double most = config_.pull.waiting_share * static_cast<double>(state_.kv.usable().count());
  return static_cast<double>(state_.arriving.count()) < most && blocks <= state_.kv.free();
}

// Asked whenever no step runs and no transfer is waited for, or of what is pushed at any time; those offered come first
// come, first served.
void Replica::pull(SimTime now) {
  const bool pushed = config_.pull.pushed;
  if (!pushed && (!has_free_slot() || awaits_)) return;
  while (!offered_.empty() && !awaits_ && may_pull(needs_here(offered_.front()))) take_head(now);
  if (has_free_slot() && !awaits_) ask_to_schedule(now);
}

// Takes memory for the first that is offered, and has its KV sent.
void Replica::take_head(SimTime now) {
  const Handover head = offered_.front();
  const Blocks blocks = needs_here(head);
  offered_.pop_front();
  integrate(now);
  const SeqId id = state_.sequences.acquire();
  Sequence& sequence = state_.sequences[id];
  sequence.request = head.request;
  sequence.phase = Sequence::Phase::kArriving;
  sequence.placed = false;
  sequence.computed = head.context.count();
  sequence.blocks = blocks.count();
  state_.take(id, blocks);
  state_.kv_tokens += head.context.count();
  state_.arriving += blocks;
  coming_.push_back(id);
  Request& request = state_.requests[head.request];
  request.time_in(Cause::kTransferWait) += now.time_since_epoch();
  request.time_in(Cause::kTransfer) -= now.time_since_epoch();
  awaits_ = !config_.pull.overlapped && !config_.pull.pushed;
  outside_.pulls(id_, id, head, now);
}

std::vector<Handover> Replica::withdraw(ReplicaId from, SimTime now) {
  std::vector<Handover> withdrawn;
  for (const Handover& offered : offered_) {
    if (offered.from != from) continue;
    withdrawn.push_back(offered);
    state_.requests[offered.request].time_in(Cause::kTransferWait) += now.time_since_epoch();
  }
  std::erase_if(offered_, [&](const Handover& offered) { return offered.from == from; });
  return withdrawn;
}

void Replica::give_up(SeqId id, SimTime now) {
  const Sequence& sequence = state_.sequences[id];
  const Blocks blocks{sequence.blocks};
  integrate(now);
  state_.requests[sequence.request].time_in(Cause::kTransfer) += now.time_since_epoch();
  state_.kv_tokens -= sequence.computed;
  state_.arriving -= blocks;
  state_.give(id, blocks);
  std::erase(coming_, id);
  state_.sequences.release(id);
  ++state_.changes;
  awaits_ = false;
  if (has_free_slot()) queue_.post(now, EventKind::kPull);
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
  const auto lose = [&](std::uint32_t index, Cause cause) {
    settle(index, cause);
    lost_.push_back({index, 0});
  };
  for (const Handover& offered : offered_) settle(offered.request, Cause::kTransferWait);
  for (const SeqId id : coming_) lose(state_.sequences[id].request, Cause::kTransfer);
  for (const SeqId id : received_) lose(state_.sequences[id].request, Cause::kDecodeWait);
  for (const SeqId id : state_.ready) lose(state_.sequences[id].request, Cause::kDecodeWait);
  for (const ReplicaState::Swapped& out : state_.swapped) lose(out.request, Cause::kPreempted);
}

std::int64_t Replica::arriving_tokens() const {
  std::int64_t tokens = 0;
  for (const SeqId id : coming_) tokens += state_.sequences[id].computed;
  for (const SeqId id : received_) tokens += state_.sequences[id].computed;
  for (const SeqId id : state_.ready) tokens += state_.sequences[id].computed;
  return tokens;
}

}  // namespace servecast
