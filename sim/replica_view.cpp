#include "sim/replica_view.hpp"

#include <algorithm>
#include <cassert>

namespace servecast {

std::int64_t ReplicaState::stored_tokens(const Sequence& sequence, const Lane& its) const {
  return sequence.phase == Sequence::Phase::kDecode ? its.cohort.context(sequence) : sequence.computed;
}

std::int64_t ReplicaState::owned_blocks(const Sequence& sequence, const Lane& its) const {
  if (!grows || sequence.phase == Sequence::Phase::kPrefill) return sequence.blocks;
  return kv.blocks_of(Tokens{stored_tokens(sequence, its)}).count();
}

std::int64_t ReplicaState::tokens_emitted() const {
  std::int64_t tokens = 0;
  for (const Lane& each : lanes) tokens += each.emissions.tokens();
  return tokens;
}

void ReplicaState::take_growth() {
  kv.take(lane->cohort.growth());
  if (!tables) return;
  for (SeqId id = lane->running.first(); id != kNoSeq; id = sequences[id].next) {
    const Sequence& sequence = sequences[id];
    if (sequence.phase == Sequence::Phase::kDecode && lane->cohort.takes_block(sequence)) tables->grow(id, Blocks{1});
  }
}

RequestView ReplicaView::request(SeqId id) const {
  const Sequence& sequence = state_.sequences[id];
  RequestView seen = view(sequence.request);
  if (sequence.phase == Sequence::Phase::kDecode) seen.emitted += Tokens{state_.lane->cohort.planned(sequence)};
  return seen;
}

void ReplicaView::refuse_head(Refusal why) {
  const std::uint32_t index = state_.waiting.front();
  state_.waiting.pop_front();
  Request& request = state_.requests[index];
  request.refusal = why;
  ++state_.changes;
  state_.waiting_time.leave_queue(request, state_.now);
  state_.refused.push_back(index);
}

SeqId ReplicaView::admit_head(Batch& batch, Blocks blocks, Tokens tokens, RunningOrder order) {
  const std::uint32_t index = state_.waiting.front();
  state_.waiting.pop_front();
  Request& request = state_.requests[index];
  state_.waiting_time.leave_queue(request, state_.now);
  state_.lane->step_time.enter_prefill(request);
  const SeqId id = state_.sequences.acquire();
  Sequence& sequence = state_.sequences[id];
  sequence.request = index;
  sequence.target = static_cast<std::int64_t>(request.prompt) + request.emitted;
  state_.enter(id, order);
  ++state_.lane->prefilling;
  ++state_.changes;
  prefill(batch, id, tokens, blocks);
  return id;
}

void ReplicaView::prefill(Batch& batch, SeqId id, Tokens tokens, Blocks blocks) {
  assert(tokens > Tokens{0} && tokens <= left_to_prefill(id));
  Sequence& sequence = state_.sequences[id];
  state_.take(id, blocks);
  sequence.blocks += blocks.count();
  sequence.computed += tokens.count();
  state_.kv_tokens += tokens.count();
  batch.prefills.push_back({id, tokens});
}

Blocks ReplicaView::prefill_growth(SeqId id, Tokens tokens) const {
  const Sequence& sequence = state_.sequences[id];
  return blocks_of(Tokens{sequence.computed} + tokens) - Blocks{sequence.blocks};
}

Blocks ReplicaView::promised_elsewhere() const {
  Blocks promised;
  for (const Lane& lane : state_.lanes) {
    if (&lane == state_.lane || lane.prefilling == 0) continue;
    for (SeqId id = lane.running.first(); id != kNoSeq; id = state_.sequences[id].next) {
      const Sequence& sequence = state_.sequences[id];
      if (sequence.phase != Sequence::Phase::kPrefill) continue;
      promised += blocks_of(Tokens{sequence.target}) - Blocks{sequence.blocks};
    }
  }
  return promised;
}

void ReplicaView::decode_all(Batch& batch) {
  if (decoding_count() == 0) return;
  state_.take_growth();
  batch.decode_all = true;
}

void ReplicaView::decode(Batch& batch, SeqId id) {
  state_.take(id, decode_growth(id));
  state_.sequences[id].listed_in = state_.step_number;
  ++batch.decode_listed;
}

// With asynchronous scheduling the step that runs may hold work of a sequence that is now thrown out. The
// device does it all the same: a token that it computes still comes.
void ReplicaView::forget_in_flight(SeqId id, const Sequence& sequence) {
  if (state_.in_flight == nullptr) return;
  PlannedStep& step = *state_.in_flight;
  for (PlannedChunk& chunk : step.chunks) {
    if (chunk.sequence == id) chunk.sequence = kNoSeq;
  }
  if (sequence.phase != Sequence::Phase::kDecode || !step.decodes) return;
  if (std::erase(step.sitters, id) == 0 && state_.lane->cohort.planned(sequence) > 0)
    step.orphans.push_back(sequence.request);
}

void ReplicaView::preempt(SeqId id, Requeue where) {
  Sequence& sequence = state_.sequences[id];
  Request& request = state_.requests[sequence.request];
  state_.give(id, Blocks{state_.owned_blocks(sequence)});
  state_.kv_tokens -= state_.stored_tokens(sequence);
  state_.leave(id);
  if (sequence.phase == Sequence::Phase::kDraining) {  // its last token is on its way: it only loses its place early
    sequence.blocks = sequence.computed = 0;
    sequence.placed = false;
    return;
  }
  forget_in_flight(id, sequence);
  if (sequence.stamped) {
    state_.lane->emissions.settle(request, state_.sequences, id);
    state_.lane->step_time.leave_decode(request);
  } else {
    state_.lane->step_time.leave_prefill(request);
  }
  if (sequence.phase == Sequence::Phase::kDecode) {
    request.emitted += static_cast<std::uint32_t>(state_.lane->cohort.planned(sequence));
    state_.lane->cohort.leave(state_.sequences, id);
  } else {
    --state_.lane->prefilling;
  }
  ++request.preemptions;
  ++state_.preemptions;
  ++state_.changes;
  const std::uint32_t index = sequence.request;
  state_.sequences.release(id);
  if (blocks_of(Tokens{request.prompt} + Tokens{request.emitted}) > usable_blocks()) {
    request.refusal = Refusal::kCache;
    state_.refused.push_back(index);
    return;
  }
  state_.waiting_time.enter_preempted(request, state_.now);
  if (where == Requeue::kFront) {
    state_.waiting.push_front(index);
  } else {
    state_.waiting.push_back(index);
  }
}

}  // namespace servecast
