#include "sim/replica.hpp"

#include <algorithm>
#include <numeric>
#include <string>

#include "sim/error.hpp"
#include "sim/replica_view.hpp"

namespace servecast {
Replica::Replica(ReplicaId id, const ReplicaConfig& config, RequestTable& requests, Scheduler& scheduler,
                 StepExecutor& executor, Outside& outside, RunObserver* observer)
    : id_(id),
      config_(config),
      state_(requests, config.usable_blocks, config.block_size, config.grows, config.attention_window),
      scheduler_(scheduler),
      executor_(executor),
      outside_(outside),
      observer_(observer),
      steps_to_check_(config.check_every),
      timeline_(config.sample_every, config.most_samples) {
  state_.max_model_len = config.max_model_len;
  state_.host_free = config.host_blocks;
  if (config.name_blocks) state_.tables.emplace(config.usable_blocks);
  state_.emissions.record_from(config.record_gaps_from);
  if (config.deliver_at_batch_end) state_.emissions.deliver_whole();
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
  if (idle()) ask_to_schedule(now);
}

void Replica::take_incoming(SimTime now) {
  for (const SeqId id : received_) state_.ready.push_back(id);
  if (!received_.empty()) changed_ = true;
  received_.clear();
  for (const Incoming& incoming : incoming_) {
    Request& request = state_.requests[incoming.request];
    request.time_in(Cause::kBoundary) += now - incoming.at;
    state_.account.enter_waiting(request);
    state_.waiting.push_back(incoming.request);
  }
  if (!incoming_.empty()) changed_ = true;
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
      complete(event.at);
      if (!offered_.empty()) queue_.post(event.at, EventKind::kPull);
      ask_to_schedule(event.at);
      break;
    case EventKind::kWake:
      if (idle()) ask_to_schedule(event.at);
      break;
    case EventKind::kSchedule:
      asked_ = false;
      // Not in the middle of a stretch that has already run past this instant.
      if (idle() && !awaits_ && event.at >= interval_from_) boundary(event.at);
      break;
    case EventKind::kPull:
      pull(event.at);
      break;
  }
}

void Replica::boundary(SimTime now) {
  if (!running_step_) integrate(now);
  for (;;) {
    state_.now = now;
    take_incoming(now);
    if (can_stretch() && !stretch(now)) return;
    if (!start_next(now)) return;
    const Running& running = slots_[current_];
    const SimTime end = running.started_at + running.cost.device + running.cost.host;
    if (running.cost.device < Duration{0}) return;  // live: its end will be told
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
  if (!running_step_) {
    if (!planned_step_ && !plan(slots_[current_].plan)) return false;
    start(now, planned_step_);
    planned_step_ = false;
  }
  if (config_.async_scheduling && !planned_step_) {
    state_.in_flight = &slots_[current_].plan;
    planned_step_ = plan(slots_[1 - current_].plan);
    state_.in_flight = nullptr;
  }
  return true;
}

// A step that was planned ahead had its host work done while the step before ran.
void Replica::start(SimTime now, bool ahead) {
  const PlannedStep& plan = slots_[current_].plan;
  std::optional<StepCost> cost = executor_.start(StepId{static_cast<std::uint64_t>(plan.number)}, plan.shape);
  if (cost) cost->host += config_.swap_per_block * plan.swapped.count();
  if (ahead && cost) cost->host = std::max(Duration{0}, cost->host - slots_[1 - current_].cost.device);
  started(now, cost);
}

void Replica::started(SimTime now, const std::optional<StepCost>& cost) {
  Running& running = slots_[current_];
  running_step_ = true;
  running.started_at = interval_from_ = now;
  running.cost = cost.value_or(StepCost{Duration{-1}, Duration{0}});
}

void Replica::complete(SimTime now) {
  Running& running = slots_[current_];
  PlannedStep& step = running.plan;
  state_.now = now;
  integrate(now);
  const Duration length = now - running.started_at;
  const Interval interval{length, std::min(running.cost.host, length), step.decodes, !step.chunks.empty(),
                          batch_.blocked_by};
  account(step, interval);
  stamp_decodes(step, now);
  stamp_prefills(step, now);
  count_step(step, length, interval.host, now);
  if (observer_ != nullptr) observer_->ended(step.number, running.started_at, now);
  running_step_ = false;
  current_ = 1 - current_;
  if (!planned_step_) current_ = 0;
}

void Replica::count_step(const PlannedStep& step, Duration length, Duration host, SimTime now) {
  ++counters_.steps;
  counters_.busy += length;
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
  state_.account.close(interval);
  for (const PlannedChunk& chunk : step.chunks) {
    if (chunk.sequence != kNoSeq) Accounting::prefilled(state_.requests[chunk.request], interval, chunk.recompute);
  }
  for (const SeqId id : step.sitters) {
    const Sequence& sequence = state_.sequences[id];
    if (sequence.stamped) Accounting::sat_out(state_.requests[sequence.request], interval);
  }
}

void Replica::stamp_decodes(PlannedStep& step, SimTime now) {
  if (!step.decodes) return;
  state_.emissions.cohort_tokens(state_.requests, state_.sequences, now, step.decode_count, step.sitters, step.orphans);
  for (const SeqId id : step.finishers) {
    Request& request = state_.requests[state_.sequences[id].request];
    state_.emissions.settle(request, state_.sequences, id);
    state_.account.leave_decode(request);
    finish(id, now);
  }
}

void Replica::stamp_prefills(PlannedStep& step, SimTime now) {
  for (const PlannedChunk& chunk : step.chunks) {
    if (!chunk.last) continue;
    Request& request = state_.requests[chunk.request];
    state_.emissions.prefill_token(request, now);
    if (chunk.sequence == kNoSeq) continue;
    state_.account.leave_prefill(request);
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
    state_.account.enter_decode(request);
    state_.emissions.joins(state_.sequences, chunk.sequence, step.decodes);
  }
}

void Replica::finish(SeqId id, SimTime now) {
  const Sequence& sequence = state_.sequences[id];
  const std::uint32_t index = sequence.request;
  const Blocks blocks{state_.owned_blocks(sequence)};
  if (sequence.placed) state_.running.remove(state_.sequences, id);
  changed_ = true;
  scheduler_.on_finish();
  if (config_.hold_until_batch_end) {
    held_blocks_ += blocks;
    held_sequences_.push_back(id);
    held_tokens_ += sequence.computed;
    if (config_.deliver_at_batch_end) held_.push_back(index);
  } else {
    state_.give(id, blocks);
    state_.kv_tokens -= sequence.computed;
  }
  if (!config_.hold_until_batch_end) state_.sequences.release(id);
  if (!config_.deliver_at_batch_end) close_request(index, now);
  if (config_.hold_until_batch_end && state_.running.size() == 0) release_held(now);
}

void Replica::release_held(SimTime now) {
  for (const SeqId id : held_sequences_) {
    state_.give(id, Blocks{state_.sequences[id].blocks});
    state_.sequences.release(id);
  }
  held_sequences_.clear();
  state_.kv_tokens -= held_tokens_;
  held_blocks_ = Blocks{0};
  held_tokens_ = 0;
  for (const std::uint32_t index : held_) {
    Request& request = state_.requests[index];
    request.time_in(Cause::kIdle) += now - request.last_token_at;
    request.first_token_at = request.last_token_at = now;
    request.max_itl = Duration{0};
    close_request(index, now);
  }
  held_.clear();
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

void Replica::integrate(SimTime now) {
  const Duration span = now - interval_from_;
  if (span <= Duration{0}) return;
  integrate_usage(span);
  if (!running_step_) {  // nothing ran: those who wait waited for what the latest plan said
    state_.account.close({span, Duration{0}, false, false, batch_.blocked_by});
  }
  interval_from_ = now;
}

void Replica::sample(SimTime now) {
  timeline_.add({now, state_.running.size(), waiting(), state_.kv.used(), state_.emissions.tokens(),
                 counters_.prefill_tokens, state_.preemptions});
}

std::string Replica::who_waits() const {
  std::string text = "nothing can move: " + std::to_string(state_.waiting.size()) + " waiting, " +
                     std::to_string(state_.running.size()) + " running, " + std::to_string(state_.kv.free().count()) +
                     " of " + std::to_string(state_.kv.usable().count()) + " KV blocks free";
  if (config_.role == Role::kDecode || config_.pull.pushed) {
    text += "; " + std::to_string(offered_.size()) + " prefilled to be pulled, " + std::to_string(state_.ready.size()) +
            " to join, " + std::to_string(state_.swapped.size()) + " swapped out";
  }
  if (!state_.waiting.empty()) {
    const Request& head = state_.requests[state_.waiting.front()];
    const char* what = batch_.blocked_by == Blocker::kMemory   ? "memory"
                       : batch_.blocked_by == Blocker::kBudget ? "the token budget"
                                                               : "a slot";
    text += "; request " + std::to_string(state_.waiting.front()) + " (" + std::to_string(head.prompt) + " prompt + " +
            std::to_string(head.emitted) + " emitted tokens) waits for " + what;
  }
  if (state_.running.first() != kNoSeq) {
    text += "; request " + std::to_string(state_.sequences[state_.running.first()].request) +
            " runs but is never scheduled";
  }
  return text;
}

void Replica::check_conservation() const {
  std::int64_t blocks = (held_blocks_ + handed_.blocks + state_.arriving).count();
  std::int64_t tokens = held_tokens_ + handed_.tokens + arriving_tokens();
  for (SeqId id = state_.running.first(); id != kNoSeq; id = state_.sequences[id].next) {
    blocks += state_.owned_blocks(state_.sequences[id]);
    tokens += state_.stored_tokens(state_.sequences[id]);
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
