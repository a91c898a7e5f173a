// The end of a run that is cut off: the time of everything open is booked up to that moment.
#include <algorithm>

#include "sim/replica.hpp"

namespace servecast {

void Replica::stop(SimTime now) {
  integrate(now);
  for (Lane& lane : state_.lanes) {
    state_.lane = &lane;
    if (lane.flies) {
      cut_step(now);
    } else if (pipelined()) {
      book_idle(lane, now);
    }
    for (SeqId id = lane.running.first(); id != kNoSeq; id = state_.sequences[id].next) settle_sequence(id, now);
    settle_held(now);
  }
  settle_queued(now);
  settle_handed(now);
}

// The step that runs counts for as long as it has run; its tokens never come.
void Replica::cut_step(SimTime now) {
  const Lane::Running& running = state_.lane->slots[state_.lane->current];
  const PlannedStep& step = running.plan;
  const Duration length = now - running.started_at;
  const Interval cut{length, std::min(running.times.host, length), step.decodes, !step.chunks.empty()};
  account(step, cut);
  if (!pipelined()) counters_.busy += cut.length;
  counters_.host += cut.host;
  // Those that lost their place while their last token was on its way are in no list but the step's.
  const auto displaced = [&](SeqId id) { return id != kNoSeq && !state_.sequences[id].placed; };
  for (const SeqId id : step.finishers) {
    if (displaced(id)) settle_sequence(id, now);
  }
  for (const PlannedChunk& chunk : step.chunks) {
    if (chunk.ends && displaced(chunk.sequence)) settle_sequence(chunk.sequence, now);
  }
}

void Replica::settle_sequence(SeqId id, SimTime now) {
  const Sequence& sequence = state_.sequences[id];
  Request& request = state_.requests[sequence.request];
  lost_.push_back({sequence.request, in_flight(id)});
  if (sequence.phase == Sequence::Phase::kDecode) {
    request.emitted += static_cast<std::uint32_t>(state_.lane->cohort.planned(sequence));
  }
  if (sequence.stamped) {
    state_.lane->emissions.settle(request, state_.sequences, id);
    state_.lane->step_time.leave_decode(request);
  } else {
    state_.lane->step_time.leave_prefill(request);
  }
  if (!request.streamed) request.first_token_at = request.last_token_at = kNever;  // nothing was delivered
  check_causes(sequence.request, now);
}

// Those that are done and wait for the end of their batch.
void Replica::settle_held(SimTime now) {
  for (const std::uint32_t index : state_.lane->held) {
    Request& request = state_.requests[index];
    request.time_in(Cause::kIdle) += now - request.last_token_at;
    request.first_token_at = request.last_token_at = kNever;
    check_causes(index, now);
    lost_.push_back({index, 0});
  }
}

// Those that hold no place: about to be queued, or queued.
void Replica::settle_queued(SimTime now) {
  for (const Incoming& incoming : incoming_) {
    state_.requests[incoming.request].time_in(Cause::kBoundary) += now - incoming.at;
    check_causes(incoming.request, now);
    lost_.push_back({incoming.request, 0});
  }
  for (std::int64_t i = 0; i < state_.waiting.size(); ++i) {
    const std::uint32_t index = state_.waiting.at(static_cast<std::size_t>(i));
    state_.waiting_time.leave_queue(state_.requests[index], now);
    check_causes(index, now);
    lost_.push_back({index, 0});
  }
}

}  // namespace servecast
