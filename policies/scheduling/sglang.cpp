#include "policies/scheduling/sglang.hpp"

#include <algorithm>
#include <utility>

namespace servecast {

void SglangScheduler::next_batch(ReplicaView& replica, SimTime, Batch& batch) {
  batch.when_empty = WhenEmpty::kPass;
  if (full_.size() < replica.slots()) full_.resize(replica.slots());
  const Full& full = full_[replica.slot()];
  if (chunked_here(replica) || (!full.is && replica.has_waiting())) prefill(replica, batch);
  if (full.is) batch.blocked_by = full.of;
  if (batch.prefills.empty()) {
    decode(replica, batch);
  } else if (options_.mixed_chunk && replica.decode_growth() <= replica.free_blocks()) {
    replica.decode_all(batch);
  }
}

Tokens SglangScheduler::outstanding(const RequestView& request) const {
  return std::min(request.max_tokens - request.emitted, options_.clip_max_new_tokens);
}

SglangScheduler::Room SglangScheduler::room(const ReplicaView& replica) const {
  double promised = 0;  // summed in the order of the running set, as the engine does: the sum is a double
  for (SeqId id = replica.first_running(); id != kNoSeq; id = replica.next_running(id)) {
    if (replica.decodes(id)) promised += static_cast<double>(outstanding(replica.request(id)).count()) * ratio_;
  }
  const Tokens riding{options_.mixed_chunk ? replica.decoding_count() : 0};
  const double free = static_cast<double>((replica.free_blocks().count() * replica.block_size()).count());
  return {free - promised - static_cast<double>(riding.count()), options_.chunked_prefill_size - riding,
          options_.max_prefill_tokens - riding};
}

void SglangScheduler::prefill(ReplicaView& replica, Batch& batch) {
  Room left = room(replica);
  if (chunked_here(replica)) continue_chunked(replica, batch, left);
  while (!chunked_here(replica) && replica.has_waiting() && admit_one(replica, batch, left)) {
  }
}

void SglangScheduler::continue_chunked(ReplicaView& replica, Batch& batch, Room& left) {
  const SeqId id = chunked_;
  const Tokens whole = replica.left_to_prefill(id);
  const Tokens wanted = std::min(whole, left.chunk);
  const Tokens room_for{left.total > 0 ? static_cast<std::int64_t>(left.total) : 0};
  const Tokens asked = std::min(wanted, room_for) > Tokens{0} ? std::min(wanted, room_for) : wanted;
  // Decodes that ride along may have taken what was promised to it: it then waits until they are done or retracted.
  const Tokens tokens = std::min(asked, replica.free_blocks().count() * replica.block_size());
  if (tokens <= Tokens{0}) return;
  replica.prefill(batch, id, tokens, replica.prefill_growth(id, tokens));
  left.chunk -= tokens;
  left.input -= tokens;
  left.total -= static_cast<double>(tokens.count());
  if (tokens < whole) return;
  const RequestView request = replica.request(id);
  left.total -= static_cast<double>((request.max_tokens - request.emitted).count());
  chunked_ = kNoSeq;
}

// False: stop admitting in this step.
bool SglangScheduler::admit_one(ReplicaView& replica, Batch& batch, Room& left) {
  const RequestView head = replica.head();
  const Tokens whole = head.to_prefill();
  const Tokens answer = head.max_tokens - head.emitted;
  const auto slots = static_cast<std::int64_t>(replica.slots());
  if (replica.running_count() >= std::max<std::int64_t>(1, options_.max_running_requests / slots)) {
    set_full(replica, Blocker::kSlot);
    return false;
  }
  const Tokens need = whole + outstanding(head) + Tokens{replica.block_size()};
  if (static_cast<double>(need.count()) > left.total) {
    if (replica.free_blocks() == replica.usable_blocks()) {  // all memory is free and it still does not fit
      replica.refuse_head(Refusal::kCache);
      return true;
    }
    set_full(replica, Blocker::kMemory);
    return false;
  }
  if (left.chunk <= Tokens{0} || left.input <= Tokens{0}) {
    batch.blocked_by = Blocker::kBudget;
    return false;
  }
  const Tokens tokens = std::min(whole, left.chunk);
  if (tokens < whole && chunked_ != kNoSeq) {  // another slot of the pipeline has one that is cut
    batch.blocked_by = Blocker::kBudget;
    return false;
  }
  const SeqId id = replica.admit_head(batch, replica.blocks_of(tokens), tokens, RunningOrder::kAdmission);
  left.chunk -= tokens;
  left.input -= tokens;
  left.total -= static_cast<double>(tokens.count());
  if (tokens < whole) {
    chunked_ = id;
    chunked_slot_ = replica.slot();
    batch.blocked_by = Blocker::kBudget;
  } else {
    left.total -= static_cast<double>(answer.count());
  }
  return true;
}

void SglangScheduler::decode(ReplicaView& replica, Batch& batch) {
  if (replica.decoding_count() == 0) return;
  if (replica.decode_growth() > replica.free_blocks()) {
    retract(replica);
    if (replica.decoding_count() == 0) return;
  } else {
    ratio_ = std::max(ratio_ - options_.ratio_decay, options_.min_new_token_ratio);
  }
  replica.decode_all(batch);
}

// Throws out those with the fewest emitted tokens (the longest prompt among them, the latest among equals)
// until the rest can take a step, and reckons anew how much of the answers will be needed.
void SglangScheduler::retract(ReplicaView& replica) {
  while (replica.decode_growth() > replica.free_blocks()) {
    SeqId victim = kNoSeq;
    std::pair<Tokens, Tokens> least;
    for (SeqId id = replica.first_running(); id != kNoSeq; id = replica.next_running(id)) {
      if (!replica.decodes(id)) continue;
      const RequestView request = replica.request(id);
      const std::pair key{request.emitted, Tokens{0} - request.prompt};
      if (victim == kNoSeq || key <= least) {
        victim = id;
        least = key;
      }
    }
    replica.preempt(victim, ReplicaView::Requeue::kBack);
  }
  std::int64_t emitted = 0, promised = 0;
  for (SeqId id = replica.first_running(); id != kNoSeq; id = replica.next_running(id)) {
    if (!replica.decodes(id)) continue;
    emitted += replica.request(id).emitted.count();
    promised += replica.request(id).max_tokens.count();
  }
  const double seen = static_cast<double>(emitted + 20 * replica.decoding_count());
  ratio_ = std::min(1.0, seen / static_cast<double>(promised + 1));
}

}  // namespace servecast
