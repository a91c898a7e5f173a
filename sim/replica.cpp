#include "sim/replica.hpp"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <string>

#include "sim/error.hpp"
#include "sim/replica_view.hpp"

namespace servecast {
Replica::Replica(ReplicaId id, const ReplicaConfig& config, RequestTable& requests, Scheduler& scheduler,
                 StepExecutor& executor, Outside& outside, RunObserver* observer)
    : id_(id),
      config_(config),
      pipelined_(config.stages > 1 || config.as_pipeline),
      state_(requests, config.usable_blocks, config.block_size, config.grows, config.attention_window, config.stages),
      scheduler_(scheduler),
      executor_(executor),
      outside_(outside),
      observer_(observer),
      steps_to_check_(config.check_every),
      timeline_(config.sample_every, config.most_samples) {
  state_.max_model_len = config.max_model_len;
  state_.host_free = config.host_blocks;
  if (config.name_blocks) state_.tables.emplace(config.usable_blocks);
  assert(config.stages >= 1 && (!pipelined_ || !config.async_scheduling));
  for (Lane& lane : state_.lanes) {
    lane.emissions.record_from(config.record_gaps_from);
    if (config.deliver_at_batch_end) lane.emissions.deliver_whole();
  }
}

void Replica::arrive(std::uint32_t index, SimTime now) {
  Request& request = state_.requests[index];
  request.replica = id_;
  request.streamed = !config_.deliver_at_batch_end;
  const Tokens prompt{request.prompt};
  if (prompt >= config_.max_model_len) {
    request.refusal = Refusal::kModelLength;
  } else if (state_.kv.blocks_of(prompt + Tokens{request.emitted}) > state_.kv.usable()) {
    request.refusal = Refusal::kCache;
  }
  if (request.refusal != Refusal::kNone) {
    close_request(index, now);
    return;
  }
  const Tokens room = config_.max_model_len - prompt;
  if (Tokens{request.output} > room) {
    request.output = static_cast<std::uint32_t>(room.count());
    request.truncated = true;
  }
  incoming_.push_back({index, now});
  if (has_free_slot()) ask_to_schedule(now);
}

void Replica::take_incoming(SimTime now) {
  for (const SeqId id : received_) state_.ready.push_back(id);
  if (!received_.empty()) ++state_.changes;
  received_.clear();
  for (const Incoming& incoming : incoming_) {
    Request& request = state_.requests[incoming.request];
    request.time_in(Cause::kBoundary) += now - incoming.at;
    state_.waiting_time.enter_waiting(request);
    state_.waiting.push_back(incoming.request);
  }
  if (!incoming_.empty()) ++state_.changes;
  incoming_.clear();
}

void Replica::ask_to_schedule(SimTime now) {
  if (asked_) return;
  asked_ = true;
  queue_.post(now, EventKind::kSchedule);
}

void Replica::handle_next() {
  const Event event = queue_.pop();
  switch (event.kind) {
    case EventKind::kStepEnded:
      pipelined() ? oldest_ended(event.at) : complete(event.at);
      if (!offered_.empty()) queue_.post(event.at, EventKind::kPull);
      ask_to_schedule(event.at);
      break;
    case EventKind::kWake:
      if (has_free_slot()) ask_to_schedule(event.at);
      break;
    case EventKind::kSchedule:
      asked_ = false;
      // Not in the middle of a stretch that has already run past this instant.
      if (has_free_slot() && !awaits_ && event.at >= interval_from_) boundary(event.at);
      break;
    case EventKind::kPull:
      pull(event.at);
      break;
  }
}

void Replica::boundary(SimTime now) {
  if (pipelined()) return fill(now);
  if (idle()) integrate(now);
  for (;;) {
    state_.now = now;
    take_incoming(now);
    if (can_stretch() && !stretch(now)) return;
    if (!start_next(now)) return;
    const Lane::Running& running = state_.lane->slots[state_.lane->current];
    const SimTime end = running.started_at + running.times.length;
    if (running.times.length < Duration{0}) return;  // live: its end will be told
    if (end >= next_other()) {
      queue_.post(end, EventKind::kStepEnded);
      return;
    }
    now = end;
    complete(now);
    if (!offered_.empty()) queue_.post(now, EventKind::kPull);
    if (next_other() <= now) {  // its end brought something at this instant: let it in first
      queue_.post(now, EventKind::kSchedule);
      return;
    }
  }
}

// Starts the step that was planned ahead, or plans one; with asynchronous scheduling also plans the next.
bool Replica::start_next(SimTime now) {
  Lane& lane = *state_.lane;
  if (idle()) {
    if (!lane.planned_ahead && !plan(lane.slots[lane.current].plan)) return false;
    start(now, lane.planned_ahead);
    lane.planned_ahead = false;
  }
  if (config_.async_scheduling && !lane.planned_ahead) {
    state_.in_flight = &lane.slots[lane.current].plan;
    lane.planned_ahead = plan(lane.slots[1 - lane.current].plan);
    state_.in_flight = nullptr;
  }
  return true;
}

// A step that was planned ahead had its host work done while the step before ran. What is swapped is moved first.
void Replica::start(SimTime now, bool ahead) {
  const Lane& lane = *state_.lane;
  const PlannedStep& plan = lane.slots[lane.current].plan;
  const Duration swap = config_.swap_per_block * plan.swapped.count();
  std::optional<StepTimes> times =
      executor_.start(StepId{static_cast<std::uint64_t>(plan.number)}, plan.shape, now + swap);
  if (times) {
    times->length += swap;
    times->host += swap;
    times->next += swap;
  }
  if (ahead && times) {
    const StepTimes& before = lane.slots[1 - lane.current].times;
    const Duration hidden = std::min(times->host, before.length - before.host);
    times->length -= hidden;
    times->host -= hidden;
  }
  started(now, times);
}

void Replica::started(SimTime now, const std::optional<StepTimes>& times) {
  Lane::Running& running = state_.lane->slots[state_.lane->current];
  state_.lane->flies = true;
  ++in_flight_;
  running.started_at = interval_from_ = now;
  running.times = times.value_or(StepTimes{Duration{-1}});
}

void Replica::complete(SimTime now) {
  Lane& lane = *state_.lane;
  Lane::Running& running = lane.slots[lane.current];
  PlannedStep& step = running.plan;
  state_.now = now;
  integrate(now);
  const Duration length = now - running.started_at;
  const Interval interval{length, std::min(running.times.host, length), step.decodes, !step.chunks.empty()};
  account(step, interval);
  stamp_decodes(step, now);
  stamp_prefills(step, now);
  count_step(step, length, interval.host, now);
  if (observer_ != nullptr) observer_->ended(step.number, running.started_at, now);
  lane.flies = false;
  --in_flight_;
  lane.current = lane.planned_ahead ? 1 - lane.current : 0;
}

void Replica::count_step(const PlannedStep& step, Duration length, Duration host, SimTime now) {
  ++counters_.steps;
  if (!pipelined()) counters_.busy += length;
  counters_.host += host;
  counters_.decode_tokens += step.decode_count;
  digest(now, step.decode_count, step.chunks.size());
  if (!step.decodes && step.chunks.empty()) ++counters_.empty_steps;
  look_in(now);
}

void Replica::check_now() {
  steps_to_check_ = config_.check_every;
  check_conservation();
}

void Replica::account(const PlannedStep& step, const Interval& interval) {
  state_.lane->step_time.close(interval);
  if (!pipelined()) state_.waiting_time.close(interval.length, state_.blocked_by);
  for (const PlannedChunk& chunk : step.chunks) {
    if (chunk.sequence != kNoSeq) StepTime::prefilled(state_.requests[chunk.request], interval, chunk.recompute);
  }
  for (const SeqId id : step.sitters) {
    const Sequence& sequence = state_.sequences[id];
    if (sequence.stamped) StepTime::sat_out(state_.requests[sequence.request], interval);
  }
}

void Replica::stamp_decodes(PlannedStep& step, SimTime now) {
  if (!step.decodes) return;
  state_.lane->emissions.cohort_tokens(state_.requests, state_.sequences, now, step.decode_count, step.sitters,
                                       step.orphans);
  for (const SeqId id : step.finishers) {
    Request& request = state_.requests[state_.sequences[id].request];
    state_.lane->emissions.settle(request, state_.sequences, id);
    state_.lane->step_time.leave_decode(request);
    finish(id, now);
  }
}

void Replica::stamp_prefills(PlannedStep& step, SimTime now) {
  for (const PlannedChunk& chunk : step.chunks) {
    if (!chunk.last) continue;
    Request& request = state_.requests[chunk.request];
    state_.lane->emissions.prefill_token(request, now);
    if (chunk.sequence == kNoSeq) continue;
    state_.lane->step_time.leave_prefill(request);
    if (chunk.ends) {
      finish(chunk.sequence, now);
      continue;
    }
    if (chunk.hands_over) {
      hand_over(chunk.sequence, now);
      continue;
    }
    if (config_.tells_prefills) outside_.prefilled(RequestId{chunk.request});
    state_.sequences[chunk.sequence].stamped = true;
    state_.lane->step_time.enter_decode(request);
    state_.lane->emissions.joins(state_.sequences, chunk.sequence, step.decodes);
  }
}

void Replica::finish(SeqId id, SimTime now) {
  Lane& lane = *state_.lane;
  const Sequence& sequence = state_.sequences[id];
  const std::uint32_t index = sequence.request;
  const Blocks blocks{state_.owned_blocks(sequence)};
  if (sequence.placed) state_.leave(id);
  ++state_.changes;
  scheduler_.on_finish();
  if (config_.hold_until_batch_end) {
    lane.held_blocks += blocks;
    lane.held_sequences.push_back(id);
    lane.held_tokens += sequence.computed;
    if (config_.deliver_at_batch_end) lane.held.push_back(index);
  } else {
    state_.give(id, blocks);
    state_.kv_tokens -= sequence.computed;
  }
  if (!config_.hold_until_batch_end) state_.sequences.release(id);
  if (!config_.deliver_at_batch_end) close_request(index, now);
  if (config_.hold_until_batch_end && lane.running.size() == 0) release_held(now);
}

void Replica::release_held(SimTime now) {
  Lane& lane = *state_.lane;
  for (const SeqId id : lane.held_sequences) {
    state_.give(id, Blocks{state_.sequences[id].blocks});
    state_.sequences.release(id);
  }
  lane.held_sequences.clear();
  state_.kv_tokens -= lane.held_tokens;
  lane.held_blocks = Blocks{0};
  lane.held_tokens = 0;
  for (const std::uint32_t index : lane.held) {
    Request& request = state_.requests[index];
    request.time_in(Cause::kIdle) += now - request.last_token_at;
    request.first_token_at = request.last_token_at = now;
    request.max_itl = Duration{0};
    close_request(index, now);
  }
  lane.held.clear();
}

// A request is over: completed, or refused for the reason it carries.
void Replica::close_request(std::uint32_t index, SimTime now) {
  Request& request = state_.requests[index];
  if (request.refusal != Refusal::kNone) {
    request.outcome = request.emitted > 0 ? Outcome::kAborted : Outcome::kRejected;
  } else {
    request.outcome = Outcome::kCompleted;
  }
  check_causes(index, now);
  outside_.ended(id_, RequestId{index}, now);
}

void Replica::check_causes(std::uint32_t index, SimTime now) const {
  const Request& request = state_.requests[index];
  const Duration sum = std::accumulate(request.spent.begin(), request.spent.end(), Duration{0});
  if (sum == now - request.arrived_at) return;
  throw SelfCheckError("causes of time do not add up to the latency of request " + std::to_string(index) + ": " +
                       std::to_string(sum.count()) + " ns of " + std::to_string((now - request.arrived_at).count()));
}

// Where nothing ran, those who wait waited for what the latest plan said.
void Replica::integrate(SimTime now) {
  const Duration span = now - interval_from_;
  if (span <= Duration{0}) return;
  integrate_usage(span);
  if (pipelined()) {
    state_.waiting_time.close(span, state_.blocked_by);
    if (!idle()) counters_.busy += span;
  } else if (idle()) {
    state_.waiting_time.close(span, state_.blocked_by);
    state_.lane->step_time.close({span, Duration{0}, false, false});
  }
  interval_from_ = now;
}

void Replica::sample(SimTime now) {
  timeline_.add({now, state_.running, waiting(), state_.kv.used(), state_.tokens_emitted(), counters_.prefill_tokens,
                 state_.preemptions});
}

std::string Replica::who_waits() const {
  std::string text = "nothing can move: " + std::to_string(state_.waiting.size()) + " waiting, " +
                     std::to_string(state_.running) + " running, " + std::to_string(state_.kv.free().count()) + " of " +
                     std::to_string(state_.kv.usable().count()) + " KV blocks free";
  if (config_.role == Role::kDecode || config_.pull.pushed) {
    text += "; " + std::to_string(offered_.size()) + " prefilled to be pulled, " + std::to_string(state_.ready.size()) +
            " to join, " + std::to_string(state_.swapped.size()) + " swapped out";
  }
  if (!state_.waiting.empty()) {
    const Request& head = state_.requests[state_.waiting.front()];
    const char* what = state_.blocked_by == Blocker::kMemory   ? "memory"
                       : state_.blocked_by == Blocker::kBudget ? "the token budget"
                                                               : "a slot";
    text += "; request " + std::to_string(state_.waiting.front()) + " (" + std::to_string(head.prompt) + " prompt + " +
            std::to_string(head.emitted) + " emitted tokens) waits for " + what;
  }
  for (const Lane& lane : state_.lanes) {
    if (lane.running.first() == kNoSeq) continue;
    text +=
        "; request " + std::to_string(state_.sequences[lane.running.first()].request) + " runs but is never scheduled";
    break;
  }
  return text;
}

void Replica::check_conservation() const {
  std::int64_t blocks = (handed_.blocks + state_.arriving).count();
  std::int64_t tokens = handed_.tokens + arriving_tokens();
  for (const Lane& lane : state_.lanes) {
    blocks += lane.held_blocks.count();
    tokens += lane.held_tokens;
    for (SeqId id = lane.running.first(); id != kNoSeq; id = state_.sequences[id].next) {
      blocks += state_.owned_blocks(state_.sequences[id], lane);
      tokens += state_.stored_tokens(state_.sequences[id], lane);
    }
  }
  if (state_.tables && state_.tables->free() != state_.kv.free()) {
    throw SelfCheckError("KV blocks counted and named differ: " + std::to_string(state_.kv.free().count()) + " and " +
                         std::to_string(state_.tables->free().count()) + " free");
  }
  if (Blocks{blocks} != state_.kv.used()) {
    throw SelfCheckError("KV blocks are not conserved: sequences own " + std::to_string(blocks) +
                         ", the cache gave out " + std::to_string(state_.kv.used().count()));
  }
  if (tokens != state_.kv_tokens) {
    throw SelfCheckError("KV tokens are not conserved: sequences hold " + std::to_string(tokens) + ", counted " +
                         std::to_string(state_.kv_tokens));
  }
}

}  // namespace servecast
