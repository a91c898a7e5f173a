// Decode stretches: the scheduler said that it would decide the same again, so step follows step without a
// plan, a batch or an event. The numbers are those of the general path to the last bit (a law compares them).
#include <algorithm>

#include "sim/replica.hpp"

namespace servecast {

// What adds up over the steps of a stretch and is booked at its end.
struct Replica::Tally {
  std::int64_t steps = 0;
  std::int64_t tokens = 0;
  Duration length{0};
  Duration host{0};
};

bool Replica::can_stretch() const {
  return idle() && !pipelined() && !config_.async_scheduling && observer_ == nullptr && !state_.tables && repeats() &&
         state_.lane->emissions.together();
}

void Replica::plan_stretch_step(PlannedStep& step) {
  Cohort& cohort = state_.lane->cohort;
  step.number = steps_planned_++;
  step.decode_count = cohort.count();
  step.shape.decode_sequences = step.decode_count;
  step.shape.sampled_rows = step.decode_count;
  step.shape.decode_context = cohort.attended();
  step.shape.decode_window_context = cohort.attended_in_window();
  state_.kv.take(cohort.growth());
  state_.kv_tokens += step.decode_count;
  cohort.advance(state_.sequences, step.finishers);
}

// Steps until something else is due. True: `now` has moved on, and the scheduler is to be asked. False: a step
// runs whose end is an event (or will be told), and `now` is where that step starts.
bool Replica::stretch(SimTime& now) {
  Lane& lane = *state_.lane;
  PlannedStep& step = lane.slots[lane.current].plan;
  step.clear();
  step.decodes = true;
  const SimTime first_other = next_other();
  const Blocks floor = *lane.batch.steady_above;
  Tally tally;
  while (state_.kv.free() - lane.cohort.growth() >= floor) {
    plan_stretch_step(step);
    const std::optional<StepTimes> times =
        executor_.start(StepId{static_cast<std::uint64_t>(step.number)}, step.shape, now);
    const Duration length = times ? times->length : Duration{0};
    const SimTime end = now + length;
    if (!times || end >= first_other || !step.finishers.empty()) {
      settle(tally);
      drain(step);
      started(now, times);
      if (!times) return false;
      if (end >= first_other) {
        queue_.post(end, EventKind::kStepEnded);
        return false;
      }
      complete(now = end);
      if (!offered_.empty()) queue_.post(now, EventKind::kPull);
      if (next_other() > now) return true;
      queue_.post(now, EventKind::kSchedule);
      return false;
    }
    integrate_usage(length);
    lane.emissions.all_together(end, step.decode_count);
    digest(end, step.decode_count, 0);
    ++tally.steps;
    tally.tokens += step.decode_count;
    tally.length += length;
    tally.host += times->host;
    now = end;
    look_in(now);
  }
  settle(tally);
  state_.now = interval_from_ = now;
  return true;
}

void Replica::settle(Tally& tally) {
  state_.waiting_time.close(tally.length, state_.blocked_by);
  state_.lane->step_time.close({tally.length, tally.host, true, false});
  counters_.steps += tally.steps;
  counters_.decode_tokens += tally.tokens;
  counters_.busy += tally.length;
  counters_.host += tally.host;
}

}  // namespace servecast
