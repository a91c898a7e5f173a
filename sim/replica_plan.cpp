#include <algorithm>
#include <cassert>

#include "sim/replica.hpp"
#include "sim/replica_view.hpp"

namespace servecast {

// The last plan said that nothing would be decided otherwise, and nothing it depends on has changed.
bool Replica::repeats() const {
  const Lane& lane = *state_.lane;
  return lane.seen == state_.changes && lane.batch.steady_above && lane.batch.decode_all && lane.cohort.count() > 0 &&
         state_.kv.free() - lane.cohort.growth() >= *lane.batch.steady_above;
}

// Fills `step` with what runs next. False: nothing does, for now.
bool Replica::plan(PlannedStep& step) {
  Lane& lane = *state_.lane;
  Batch& batch = lane.batch;
  step.clear();
  state_.step_number = steps_planned_;
  if (repeats()) {
    batch.swapped = Blocks{0};
    state_.blocked_by = batch.blocked_by;
    state_.take_growth();
    commit(step);
    return true;
  }
  ReplicaView view(state_);
  state_.offered = static_cast<std::int64_t>(offered_.size());
  for (;;) {
    batch.clear();
    const std::int64_t preemptions = state_.preemptions;
    scheduler_.next_batch(view, state_.now, batch);
    ++counters_.planner_calls;
    collect_refused();
    lane.seen = state_.changes;
    state_.blocked_by = batch.blocked_by;
    if (batch.wake_at != kNever) queue_.post(batch.wake_at, EventKind::kWake);
    if (!batch.empty()) break;
    const bool only_preempted = state_.preemptions != preemptions;
    if (!only_preempted || batch.when_empty == WhenEmpty::kWait) return false;
    if (batch.when_empty == WhenEmpty::kPass) {
      if (pipelined() && !idle()) return false;  // the steps in flight pass meanwhile
      break;
    }
  }
  commit(step);
  return true;
}

void Replica::collect_refused() {
  for (const std::uint32_t request : state_.refused) close_request(request, state_.now);
  state_.refused.clear();
}

void Replica::commit(PlannedStep& step) {
  const Batch& batch = state_.lane->batch;
  step.number = steps_planned_++;
  step.swapped = batch.swapped;
  if (observer_ != nullptr) emitters_.clear();
  commit_decodes(step);
  commit_prefills(step);
  if (batch.padding) pad(step);
  step.shape.prefills = batch.padding ? step.padded : step.prefills;
  if (observer_ != nullptr) observer_->planned(step, emitters_, state_);
}

void Replica::commit_decodes(PlannedStep& step) {
  const Batch& batch = state_.lane->batch;
  if (!batch.decode_all && batch.decode_listed == 0) return;
  Cohort& cohort = state_.lane->cohort;
  std::int64_t left_out = 0;
  Tokens keys_left_out;
  if (!batch.decode_all && batch.decode_listed < cohort.count()) {
    const Tokens window = config_.attention_window.value_or(Tokens{INT64_MAX});
    for (SeqId id = state_.lane->running.first(); id != kNoSeq; id = state_.sequences[id].next) {
      Sequence& sequence = state_.sequences[id];
      if (sequence.phase != Sequence::Phase::kDecode || sequence.listed_in == step.number) continue;
      cohort.sit_out(state_.sequences, id);
      step.sitters.push_back(id);
      const Tokens keys{cohort.context(sequence) + 1};
      step.shape.decode_context -= keys;
      keys_left_out += std::min(keys, window);
      ++left_out;
    }
  }
  step.decodes = true;
  step.decode_count = cohort.count() - left_out;
  step.shape.decode_sequences = step.decode_count;
  step.shape.decode_context += cohort.attended();
  step.shape.decode_window_context = cohort.attended_in_window() - keys_left_out;
  step.shape.sampled_rows = step.decode_count;
  state_.kv_tokens += step.decode_count;
  if (observer_ != nullptr) observe(step);
  cohort.advance(state_.sequences, step.finishers);
  drain(step);
}

// Those whose last token is planned keep their places until the step has ended, but take no more of a budget: the
// next plan may differ.
void Replica::drain(PlannedStep& step) {
  if (!step.finishers.empty()) ++state_.changes;
  for (const SeqId id : step.finishers) {
    Sequence& sequence = state_.sequences[id];
    sequence.phase = Sequence::Phase::kDraining;
    sequence.computed = state_.lane->cohort.context(sequence);
    state_.requests[sequence.request].emitted = state_.requests[sequence.request].output;
  }
}

void Replica::observe(const PlannedStep& step) {
  for (SeqId id = state_.lane->running.first(); id != kNoSeq; id = state_.sequences[id].next) {
    const Sequence& sequence = state_.sequences[id];
    const bool sits = std::find(step.sitters.begin(), step.sitters.end(), id) != step.sitters.end();
    if (sequence.phase == Sequence::Phase::kDecode && !sits) emitters_.push_back(sequence.request);
  }
}

void Replica::commit_prefills(PlannedStep& step) {
  for (const Batch::Prefill& chunk : state_.lane->batch.prefills) {
    Sequence& sequence = state_.sequences[chunk.sequence];
    Request& request = state_.requests[sequence.request];
    const bool last = sequence.computed == sequence.target;
    const bool recompute = request.preemptions > 0 || request.retries > 0;
    step.prefills.push_back({chunk.tokens, Tokens{sequence.computed} - chunk.tokens});
    const bool ends = last && request.emitted + 1 == request.output;
    const bool hands_over = last && !ends && (config_.role == Role::kPrefill || request.leaves);
    step.chunks.push_back({chunk.sequence, sequence.request, last, ends, hands_over, recompute});
    counters_.prefill_tokens += chunk.tokens.count();
    if (recompute) counters_.recomputed_tokens += chunk.tokens.count();
    if (!last) continue;
    ++step.shape.sampled_rows;
    if (observer_ != nullptr) emitters_.push_back(sequence.request);
    --state_.lane->prefilling;
    ++request.emitted;
    if (ends || hands_over) {
      sequence.phase = Sequence::Phase::kDraining;
    } else {
      state_.lane->cohort.join(state_.sequences, chunk.sequence, request.output - request.emitted);
    }
  }
}

// Static batching: the device computes every slot to the same length, whoever still needs it.
void Replica::pad(PlannedStep& step) {
  const Batch::Padding& padding = *state_.lane->batch.padding;
  step.shape.sampled_rows = padding.slots;
  if (!step.chunks.empty()) {
    step.padded.assign(static_cast<std::size_t>(padding.slots), {padding.longest, Tokens{0}});
    return;
  }
  step.shape.decode_sequences = padding.slots;
  step.shape.decode_context = padding.longest * padding.slots;
  const Tokens window = config_.attention_window.value_or(padding.longest);
  step.shape.decode_window_context = std::min(padding.longest, window) * padding.slots;
}

}  // namespace servecast
