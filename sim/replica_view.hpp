// What a scheduler sees of its replica and may do to it. Holds only what a real server knows.
#pragma once

#include <algorithm>

#include "sim/batch.hpp"
#include "sim/replica_state.hpp"
#include "sim/request.hpp"

namespace servecast {

class ReplicaView {
 public:
  explicit ReplicaView(ReplicaState& state) : state_(state) {}

  // Memory.
  [[nodiscard]] Blocks usable_blocks() const { return state_.kv.usable(); }
  [[nodiscard]] Blocks free_blocks() const { return state_.kv.free(); }
  [[nodiscard]] Tokens block_size() const { return state_.kv.block_size(); }
  [[nodiscard]] Blocks blocks_of(Tokens tokens) const { return state_.kv.blocks_of(tokens); }

  // Whether a request that another replica has prefilled waits for memory here.
  [[nodiscard]] bool has_offered() const { return state_.offered > 0; }

  // The waiting queue. The head is the only one to admit or to refuse.
  [[nodiscard]] bool has_waiting() const { return !state_.waiting.empty(); }
  [[nodiscard]] std::int64_t waiting_count() const { return state_.waiting.size(); }
  [[nodiscard]] RequestView head() const { return view(state_.waiting.front()); }
  void refuse_head(Refusal why);
  // Starts the head with its first `tokens` of prefill and `blocks` taken for it. Requires blocks <= free_blocks().
  SeqId admit_head(Batch& batch, Blocks blocks, Tokens tokens, RunningOrder order);

  // The running set, in its order: of a pipeline, those of the slot that is planned. No plan sees or touches the
  // others.
  [[nodiscard]] std::int64_t running_count() const { return state_.lane->running.size(); }
  // In all slots of the pipeline.
  [[nodiscard]] std::int64_t running_in_all() const { return state_.running; }
  // Slots of the pipeline; 1 without one. And the one that is planned, counted from 0.
  [[nodiscard]] std::size_t slots() const { return state_.lanes.size(); }
  [[nodiscard]] std::size_t slot() const { return static_cast<std::size_t>(state_.lane - state_.lanes.data()); }
  [[nodiscard]] std::int64_t prefilling_count() const { return state_.lane->prefilling; }
  [[nodiscard]] SeqId first_running() const { return state_.lane->running.first(); }
  [[nodiscard]] SeqId last_running() const { return state_.lane->running.last(); }
  [[nodiscard]] SeqId next_running(SeqId id) const { return state_.sequences[id].next; }
  [[nodiscard]] SeqId previous_running(SeqId id) const { return state_.sequences[id].previous; }
  [[nodiscard]] RequestView request(SeqId id) const;
  [[nodiscard]] bool prefills(SeqId id) const { return state_.sequences[id].phase == Sequence::Phase::kPrefill; }
  [[nodiscard]] bool decodes(SeqId id) const { return state_.sequences[id].phase == Sequence::Phase::kDecode; }
  [[nodiscard]] Tokens left_to_prefill(SeqId id) const {
    return Tokens{state_.sequences[id].target - state_.sequences[id].computed};
  }

  // Decoding. Those that have no token left to plan are not counted.
  [[nodiscard]] std::int64_t decoding_count() const { return state_.lane->cohort.count(); }
  // Blocks that one step of all decoding sequences takes.
  [[nodiscard]] Blocks decode_growth() const { return state_.lane->cohort.growth(); }
  // Blocks that one step of this decoding sequence takes (0 or 1).
  [[nodiscard]] Blocks decode_growth(SeqId id) const {
    return Blocks{state_.lane->cohort.takes_block(state_.sequences[id]) ? 1 : 0};
  }
  // Requires decode_growth() <= free_blocks().
  void decode_all(Batch& batch);
  void decode(Batch& batch, SeqId id);

  // Continues a prefill. `blocks` are taken besides those it owns.
  void prefill(Batch& batch, SeqId id, Tokens tokens, Blocks blocks);
  // Blocks that `tokens` more of its prefill take beyond those it owns.
  [[nodiscard]] Blocks prefill_growth(SeqId id, Tokens tokens) const;

  // Blocks that the prompts which other slots of the pipeline have begun will still take.
  [[nodiscard]] Blocks promised_elsewhere() const;

  // Throws a running sequence out (recompute): its blocks are free at once; it waits at the front, or at the back.
  enum class Requeue : std::uint8_t { kFront, kBack };
  void preempt(SeqId id, Requeue where = Requeue::kFront);

  // Requests that another replica has prefilled and whose KV has come. The head is the only one to join.
  [[nodiscard]] bool has_ready() const { return !state_.ready.empty(); }
  [[nodiscard]] RequestView ready_head() const { return view(state_.sequences[state_.ready.front()].request); }
  // The head decodes from the coming step on; the blocks of its prompt it has.
  void join_ready(RunningOrder order);

  // Those that were swapped out. The head is the only one to come back.
  [[nodiscard]] bool has_swapped() const { return !state_.swapped.empty(); }
  [[nodiscard]] RequestView swapped_head() const { return view(state_.swapped.front().request); }
  // Moves a decoding sequence's KV to the host. One that could never come back, or that the host has no room for, is
  // refused instead.
  void swap_out(Batch& batch, SeqId id);
  // Requires free blocks for its context.
  void swap_in(Batch& batch);

 private:
  [[nodiscard]] RequestView view(std::uint32_t request) const {
    const Request& r = state_.requests[request];
    const Tokens prompt{r.prompt};
    const Tokens cap = std::min(Tokens{r.max_tokens}, state_.max_model_len - prompt);
    return {RequestId{request}, r.arrived_at, prompt, Tokens{r.emitted}, cap, r.leaves};
  }
  void forget_in_flight(SeqId id, const Sequence& sequence);
  void start_decode(SeqId id, RunningOrder order);

  ReplicaState& state_;
};

}  // namespace servecast
