// One copy of the model: plans steps with its scheduler, has them run, and stamps what comes out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "sim/event_queue.hpp"
#include "sim/handover.hpp"
#include "sim/observer.hpp"
#include "sim/replica_id.hpp"
#include "sim/replica_state.hpp"
#include "sim/scheduler.hpp"
#include "sim/step.hpp"
#include "sim/timeline.hpp"
#include "sim/wide.hpp"

namespace servecast {

struct ReplicaConfig {
  Blocks usable_blocks;
  Tokens block_size;
  Tokens max_model_len{std::int64_t{1} << 31};
  bool grows = true;                  // sequences take blocks as they decode; false: reserved at admission
  bool hold_until_batch_end = false;  // a finished sequence keeps its memory until nobody runs (static batching)
  bool deliver_at_batch_end = false;  // and its tokens are delivered only then
  bool async_scheduling = false;      // the next step is planned while one runs; not with a pipeline
  std::size_t stages = 1;             // of its pipeline: so many steps run at a time, each of other sequences
  // A prompt's next chunk goes into a pipeline behind the one in flight, and does not wait until that is back.
  bool chunks_follow = false;
  bool as_pipeline = false;  // goes the way of a pipeline with one stage too, and comes to the same (a law)
  // A pipeline that has nothing to run besides what runs plans again when somebody arrives; otherwise only when the
  // oldest of its steps has ended.
  bool fills_on_arrival = true;
  std::optional<Tokens> attention_window;
  Role role = Role::kBoth;                          // one that hands over, or gets its requests, does not plan ahead
  PullConfig pull;                                  // of one that decodes
  Bytes block_bytes;                                // that the transfer of one KV block moves
  Blocks host_blocks;                               // that the host has room for, where the policy swaps
  Duration swap_per_block{0};                       // between device and host
  bool tells_prefills = false;                      // see Outside::prefilled
  bool name_blocks = false;                         // keep block tables, not only counts (costs per sequence)
  SimTime record_gaps_from = kStart;                // inter-token gaps that end earlier are not recorded
  std::int64_t check_every = 8192;                  // steps between two checks of conservation
  Duration sample_every = std::chrono::seconds{1};  // above 0; of the timeline; longer on long runs (see Timeline)
  std::size_t most_samples = 16384;                 // of the timeline; at least 2
};

// What a run counts, besides its requests.
struct Counters {
  std::int64_t steps = 0;
  std::int64_t empty_steps = 0;
  std::int64_t planner_calls = 0;
  std::int64_t prefill_tokens = 0;     // computed, recomputation included
  std::int64_t recomputed_tokens = 0;  // of those
  std::int64_t decode_tokens = 0;
  Duration busy{0};  // in which a step ran
  Duration host{0};
  Duration worked{0};                            // by the stages of a pipeline, added up; of one stage not counted
  Wide kv_block_ns = 0;                          // ∫ blocks in use
  Wide kv_token_ns = 0;                          // ∫ tokens stored in them
  Wide running_ns = 0;                           // ∫ sequences running
  std::uint64_t digest = 0xcbf29ce484222325ULL;  // of every step's end and content: equal runs, equal digests
};

class Replica {
 public:
  // What the rest of the cluster is to a replica.
  class Outside {
   public:
    virtual ~Outside() = default;
    // A request is over. A replica tells its own in the order in which they end.
    virtual void ended(ReplicaId replica, RequestId request, SimTime at) = 0;
    // A request that does not leave has its first token, and goes on here. Only where the replica tells.
    virtual void prefilled(RequestId request) = 0;
    // A prefilled request leaves for another replica.
    virtual void handed_over(const Handover& handover, SimTime at) = 0;
    // `to` has memory for it, and `received` with `sequence` is to be called when its KV has come.
    virtual void pulls(ReplicaId to, SeqId sequence, const Handover& handover, SimTime at) = 0;
    // Nothing reaches a replica from outside before then: so far it may run on by itself. An end may bring it nearer.
    [[nodiscard]] SimTime next() const { return next_; }

   protected:
    SimTime next_ = kNever;
  };

  Replica(ReplicaId id, const ReplicaConfig& config, RequestTable& requests, Scheduler& scheduler,
          StepExecutor& executor, Outside& outside, RunObserver* observer);

  // The request with that index in the table comes to this replica: refused at once where it can never run, else
  // queued.
  void arrive(std::uint32_t index, SimTime now);
  // A request that another replica has prefilled is to be decoded here. False: it never can, and has been refused.
  bool offer(const Handover& handover, SimTime now);
  // Takes back what was offered from there.
  [[nodiscard]] std::vector<Handover> withdraw(ReplicaId from, SimTime now);
  // The KV of a sequence that it pulls will not come.
  void give_up(SeqId id, SimTime now);
  // The KV of a sequence that it pulls has come.
  void received(SeqId id, SimTime now);
  // The KV of a sequence that it handed over has left.
  void release_handed(SeqId id, SimTime now);
  // Its next event, kNever when it has none.
  [[nodiscard]] Moment next_event() const { return queue_.next_moment(); }
  // Handles its next event, and runs on by itself for as long as nothing else comes first.
  void handle_next();
  // A step whose executor did not say how long it would last has ended.
  void step_ended(SimTime now) { queue_.post(now, EventKind::kStepEnded); }
  // A request that was here when the replica failed; so many of its emitted tokens will never come.
  struct Lost {
    std::uint32_t request;
    std::uint32_t in_flight;
  };
  struct Failed {
    std::vector<Lost> lost;
    std::vector<Handover> offered;  // not lost: their KV is still where they were prefilled
  };
  // It fails: all its open requests, with their time booked until `now`. Nothing may be called after it that changes
  // the replica. Requires that it does not schedule ahead.
  [[nodiscard]] Failed fail(SimTime now);
  // The run is cut off: books the time of all that is open until `now`. Nothing may be called after it that changes
  // the replica.
  void stop(SimTime now);

  [[nodiscard]] bool idle() const { return in_flight_ == 0; }
  // Names what waits and what runs, for the message of a stalled run.
  [[nodiscard]] std::string who_waits() const;
  [[nodiscard]] const ReplicaState& state() const { return state_; }
  [[nodiscard]] const Counters& counters() const { return counters_; }
  // Time in which steps ran, the one that runs included.
  [[nodiscard]] Duration busy_until(SimTime now) const;
  // Requests that have come and are not running.
  [[nodiscard]] std::int64_t waiting() const {
    return state_.waiting.size() + static_cast<std::int64_t>(incoming_.size());
  }
  // Requests that others have prefilled for it and that do not decode yet, or were thrown out since.
  [[nodiscard]] std::int64_t waiting_to_decode() const {
    return waiting() + static_cast<std::int64_t>(offered_.size() + coming_.size() + received_.size() +
                                                 state_.ready.size() + state_.swapped.size());
  }
  [[nodiscard]] const Timeline& timeline() const { return timeline_; }
  // Blocks and tokens owned by sequences equal what the cache has given out. Throws SelfCheckError.
  void check_conservation() const;

 private:
  // Comes to a replica while a step runs; it is let in at that step's end.
  struct Incoming {
    std::uint32_t request;
    SimTime at;
  };

  // Events (replica.cpp).
  void ask_to_schedule(SimTime now);
  // The earliest that anything else happens: an event of this replica, or something from outside.
  [[nodiscard]] SimTime next_other() const { return std::min(queue_.next_time(), outside_.next()); }
  // The moment to plan, when all that happens at `now` has been told. Runs on for as long as no other event comes
  // first.
  void boundary(SimTime now);
  // Whether a step could start now if there is something to run.
  [[nodiscard]] bool has_free_slot() const { return in_flight_ < state_.lanes.size() && !waits_for_return_; }

  // A pipeline (replica_pipeline.cpp).
  [[nodiscard]] bool pipelined() const { return pipelined_; }
  void fill(SimTime now);
  void oldest_ended(SimTime now);
  [[nodiscard]] Lane* next_lane();
  [[nodiscard]] bool nobody_waits() const {
    return state_.waiting.empty() && state_.ready.empty() && state_.swapped.empty();
  }
  void book_idle(Lane& lane, SimTime now) const;
  void adopt_prompts(Lane& lane, SimTime now);
  void leave_flight(Lane& from, SeqId id, SimTime now);

  // Changing replicas (replica_handover.cpp).
  struct Owned {
    Blocks blocks;
    std::int64_t tokens = 0;
  };
  void hand_over(SeqId id, SimTime now);
  [[nodiscard]] Blocks needs_here(const Handover& handover) const;
  [[nodiscard]] bool may_pull(Blocks blocks) const;
  void take_head(SimTime now);
  void pull(SimTime now);
  void settle_handed(SimTime now);
  [[nodiscard]] std::int64_t arriving_tokens() const;

  // Planning (replica_plan.cpp).
  bool plan(PlannedStep& step);
  bool repeats() const;
  void commit(PlannedStep& step);
  void commit_decodes(PlannedStep& step);
  void commit_prefills(PlannedStep& step);
  void drain(PlannedStep& step);
  void pad(PlannedStep& step);
  void observe(const PlannedStep& step);
  void collect_refused();

  // Decode stretches (replica_stretch.cpp).
  struct Tally;
  bool can_stretch() const;
  bool stretch(SimTime& now);
  void plan_stretch_step(PlannedStep& step);
  void settle(Tally& tally);

  // Running (replica.cpp).
  bool start_next(SimTime now);
  void start(SimTime now, bool ahead);
  void started(SimTime now, const std::optional<StepTimes>& times);
  void complete(SimTime now);
  void take_incoming(SimTime now);
  void count_step(const PlannedStep& step, Duration length, Duration host, SimTime now);
  void account(const PlannedStep& step, const Interval& interval);
  void stamp_decodes(PlannedStep& step, SimTime now);
  void stamp_prefills(PlannedStep& step, SimTime now);
  void finish(SeqId id, SimTime now);
  void close_request(std::uint32_t index, SimTime now);
  void release_held(SimTime now);
  void check_causes(std::uint32_t index, SimTime now) const;

  // Cutting a run off (replica_stop.cpp).
  [[nodiscard]] std::uint32_t in_flight(SeqId id) const;
  void cut_step(SimTime now);
  void settle_held(SimTime now);
  void settle_sequence(SeqId id, SimTime now);
  void settle_queued(SimTime now);
  void integrate(SimTime now);
  void integrate_usage(Duration span) {
    const Wide length = span.count();
    counters_.kv_block_ns += length * state_.kv.used().count();
    counters_.kv_token_ns += length * state_.kv_tokens;
    counters_.running_ns += length * state_.running;
  }
  void sample(SimTime now);
  // Now and then: a sample of the timeline, a check that nothing is lost.
  void look_in(SimTime now) {
    if (timeline_.due(now)) sample(now);
    if (--steps_to_check_ == 0) check_now();
  }
  void check_now();
  void digest(SimTime end, std::int64_t decodes, std::size_t chunks) {
    const auto mix = [this](std::uint64_t value) { counters_.digest = (counters_.digest ^ value) * 0x100000001b3ULL; };
    mix(static_cast<std::uint64_t>(end.time_since_epoch().count()));
    mix(static_cast<std::uint64_t>(decodes) ^ (chunks << 32));
  }

  ReplicaId id_;
  ReplicaConfig config_;
  bool pipelined_;
  ReplicaState state_;
  Scheduler& scheduler_;
  StepExecutor& executor_;
  Outside& outside_;
  RunObserver* observer_;

  EventQueue queue_;
  bool asked_ = false;         // to schedule, at this instant
  std::size_t in_flight_ = 0;  // steps that run
  std::int64_t steps_planned_ = 0;
  // Of a pipeline.
  std::vector<Lane*> flying_;      // whose steps run, in the order in which they started, and will end
  SimTime host_free_at_ = kStart;  // when another step may be started
  bool waits_for_return_ = false;  // nothing is planned until a step has ended
  std::int64_t rounds_ = 0;        // of planning
  std::int64_t returns_ = 0;
  SimTime interval_from_ = kStart;
  std::vector<Incoming> incoming_;
  std::vector<Lost> lost_;        // when cut off
  Owned handed_;                  // by sequences that have been handed over and not yet pulled
  std::deque<Handover> offered_;  // and not yet pulled
  std::vector<SeqId> coming_;     // pulled, on the way
  std::vector<SeqId> received_;   // come, until the end of the step that runs
  bool awaits_ = false;           // a transfer, and runs no step until it has ended
  std::vector<std::uint32_t> emitters_;
  Counters counters_;
  std::int64_t steps_to_check_;
  Timeline timeline_;
};

}  // namespace servecast
