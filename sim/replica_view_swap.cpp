// What a scheduler does with sequences that come to decode without a prefill: from another replica, or from the host.
#include "sim/replica_view.hpp"

namespace servecast {

// Requires its context in `computed`, and its blocks taken.
void ReplicaView::start_decode(SeqId id, RunningOrder order) {
  Sequence& sequence = state_.sequences[id];
  const Request& request = state_.requests[sequence.request];
  sequence.placed = sequence.stamped = true;
  ++state_.changes;
  state_.enter(id, order);
  state_.lane->cohort.join(state_.sequences, id, std::int64_t{request.output} - request.emitted);
  state_.lane->emissions.joins(state_.sequences, id, false);
}

void ReplicaView::join_ready(RunningOrder order) {
  const SeqId id = state_.ready.front();
  state_.ready.pop_front();
  Request& request = state_.requests[state_.sequences[id].request];
  state_.arriving -= Blocks{state_.sequences[id].blocks};
  request.time_in(Cause::kDecodeWait) += state_.now.time_since_epoch();
  start_decode(id, order);
  state_.lane->step_time.enter_decode(request);
}

void ReplicaView::swap_out(Batch& batch, SeqId id) {
  const Sequence& sequence = state_.sequences[id];
  const std::uint32_t index = sequence.request;
  const std::int64_t context = state_.stored_tokens(sequence);
  const Blocks blocks{state_.owned_blocks(sequence)};
  Request& request = state_.requests[index];
  state_.give(id, blocks);
  state_.kv_tokens -= context;
  state_.leave(id);
  state_.lane->emissions.settle(request, state_.sequences, id);
  state_.lane->step_time.leave_decode(request);
  request.emitted += static_cast<std::uint32_t>(state_.lane->cohort.planned(sequence));
  state_.lane->cohort.leave(state_.sequences, id);
  state_.sequences.release(id);
  ++request.preemptions;
  ++state_.preemptions;
  ++state_.changes;
  const bool too_large = blocks_of(Tokens{request.prompt} + Tokens{request.emitted}) > usable_blocks();
  if (too_large || blocks > state_.host_free) {
    request.refusal = too_large ? Refusal::kCache : Refusal::kSwapSpace;
    state_.refused.push_back(index);
    return;
  }
  state_.host_free -= blocks;
  batch.swapped += blocks;
  state_.waiting_time.enter_preempted(request, state_.now);
  state_.swapped.push_back({index, context});
}

void ReplicaView::swap_in(Batch& batch) {
  const ReplicaState::Swapped back = state_.swapped.front();
  state_.swapped.pop_front();
  Request& request = state_.requests[back.request];
  const Blocks blocks = blocks_of(Tokens{back.context});
  const SeqId id = state_.sequences.acquire();
  Sequence& sequence = state_.sequences[id];
  sequence.request = back.request;
  sequence.computed = back.context;
  sequence.blocks = blocks.count();
  state_.take(id, blocks);
  state_.kv_tokens += back.context;
  state_.host_free += blocks;
  batch.swapped += blocks;
  state_.waiting_time.leave_preempted(request, state_.now);
  start_decode(id, RunningOrder::kAdmission);
  state_.lane->step_time.enter_decode(request);
}

}  // namespace servecast
