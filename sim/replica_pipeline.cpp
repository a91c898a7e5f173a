// A replica whose layers stand in stages one behind another: as many steps run at a time as there are stages, each of
// other sequences, and they end in the order in which they start.
//
// Engines plan the next step as soon as fewer than that run, and it waits in front of the first stage until that is
// free (Orca's Algorithm 1, vLLM V1's batch queue, Sarathi's and DistServe's loops alike). Which lane goes next is
// ours: the batch of a lane is what came back of it, and those who are let in with it.
#include <algorithm>

#include "sim/replica.hpp"

namespace servecast {

// Of those not yet asked in this round: the lane that came back first of those that have sequences, then of the empty
// ones. So a lane that has come back takes the newcomers with it, and an empty one gets what that has left.
Lane* Replica::next_lane() {
  Lane* best = nullptr;
  for (Lane& lane : state_.lanes) {
    if (lane.flies || lane.round == rounds_) continue;
    const bool empty = lane.running.size() == 0;
    if (best != nullptr) {
      const bool best_is_empty = best->running.size() == 0;
      if (empty != best_is_empty ? empty : lane.returned >= best->returned) continue;
    }
    best = &lane;
  }
  return best;
}

// Starts steps until as many run as there are stages, or nobody has anything to run.
void Replica::fill(SimTime now) {
  integrate(now);
  if (now < host_free_at_) {  // it still prepares the step before
    queue_.post(host_free_at_, EventKind::kSchedule);
    return;
  }
  state_.now = now;
  take_incoming(now);
  ++rounds_;
  while (in_flight_ < state_.lanes.size()) {
    Lane* lane = next_lane();
    if (lane == nullptr) break;
    lane->round = rounds_;
    state_.lane = lane;
    book_idle(*lane, now);
    if (config_.chunks_follow) adopt_prompts(*lane, now);
    if (lane->running.size() == 0 && nobody_waits()) continue;
    if (!plan(lane->slots[0].plan)) continue;
    start(now, false);
    flying_.push_back(lane);
    const StepTimes& times = lane->slots[0].times;
    if (times.length < Duration{0}) continue;  // live: its end will be told
    queue_.post(now + times.length, EventKind::kStepEnded);
    host_free_at_ = now + times.next;
    if (host_free_at_ > now) {
      queue_.post(host_free_at_, EventKind::kSchedule);
      return;
    }
  }
  waits_for_return_ = !config_.fills_on_arrival && !idle();
}

void Replica::oldest_ended(SimTime now) {
  integrate(now);
  Lane& lane = *flying_.front();
  flying_.erase(flying_.begin());
  state_.lane = &lane;
  counters_.worked += lane.slots[0].times.worked;
  complete(now);
  lane.booked_until = now;
  lane.returned = ++returns_;
  waits_for_return_ = false;
}

// Unfinished prompts in flight come over from their lanes: this one may run their next chunk.
void Replica::adopt_prompts(Lane& lane, SimTime now) {
  for (Lane* from : flying_) {
    for (SeqId id = from->prefilling > 0 ? from->running.first() : kNoSeq; id != kNoSeq;) {
      const SeqId next = state_.sequences[id].next;
      if (state_.sequences[id].phase == Sequence::Phase::kPrefill) {
        leave_flight(*from, id, now);
        lane.running.push_back(state_.sequences, id);
        ++lane.prefilling;
        lane.step_time.enter_prefill(state_.requests[state_.sequences[id].request]);
      }
      id = next;
    }
  }
}

// The time of its chunk in flight is booked until now. What is left of that is covered by the next one, which ends
// later.
void Replica::leave_flight(Lane& from, SeqId id, SimTime now) {
  Request& request = state_.requests[state_.sequences[id].request];
  const Duration since = now - from.booked_until;
  Cause cause = Cause::kIdle;
  for (PlannedChunk& chunk : from.slots[0].plan.chunks) {
    if (chunk.sequence != id) continue;
    cause = chunk.recompute ? Cause::kRecompute : Cause::kPrefill;
    chunk.sequence = kNoSeq;
  }
  const Duration host = std::clamp(from.slots[0].times.host, Duration{0}, since);
  from.step_time.leave_prefill(request);
  request.time_in(Cause::kHost) += host;
  request.time_in(cause) += since - host;
  from.running.remove(state_.sequences, id);
  --from.prefilling;
}

// Between its steps those in a lane are idle.
void Replica::book_idle(Lane& lane, SimTime now) const {
  const Duration span = now - lane.booked_until;
  if (span > Duration{0}) lane.step_time.close({span, Duration{0}, false, false});
  lane.booked_until = now;
}

}  // namespace servecast
