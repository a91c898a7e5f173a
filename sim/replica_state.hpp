// The planning state of one replica: who waits, who runs, who owns which memory. It runs ahead of the
// clock: a token counts as soon as the step that computes it is planned.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "sim/accounting.hpp"
#include "sim/block_tables.hpp"
#include "sim/kv_cache.hpp"
#include "sim/lane.hpp"
#include "sim/planned_step.hpp"
#include "sim/request_table.hpp"
#include "sim/sequence.hpp"
#include "sim/wait_queue.hpp"

namespace servecast {

struct ReplicaState {
  // `slots`: of the pipeline, at least 1.
  ReplicaState(RequestTable& table, Blocks usable, Tokens block_size, bool growing, std::optional<Tokens> window,
               std::size_t slots)
      : requests(table), kv(usable, block_size), grows(growing), lanes(slots, Lane(block_size, growing, window)) {}
  ReplicaState(const ReplicaState&) = delete;  // `lane` points into it
  ReplicaState& operator=(const ReplicaState&) = delete;

  RequestTable& requests;
  KvCache kv;
  std::optional<BlockTables> tables;  // where blocks are named, not only counted
  Tokens max_model_len{std::int64_t{1} << 31};
  bool grows;  // decoding sequences take blocks as they grow; otherwise all was reserved at admission
  WaitQueue waiting;
  Sequences sequences;
  std::vector<Lane> lanes;     // one for each slot of the pipeline; their number never changes
  Lane* lane = lanes.data();   // the one that is planned, or whose step has ended
  std::int64_t running = 0;    // sequences of all lanes
  std::int64_t kv_tokens = 0;  // Σ tokens whose KV is stored (planned)
  std::int64_t preemptions = 0;
  std::int64_t changes = 0;      // of what a plan depends on besides free memory: who waits, and who has ended
  std::int64_t step_number = 0;  // of the plan being made
  SimTime now = kStart;
  WaitingTime waiting_time;
  Blocker blocked_by = Blocker::kNone;  // in the latest plan
  PlannedStep* in_flight = nullptr;     // the step that runs while the next is planned (asynchronous scheduling)
  std::vector<std::uint32_t> refused;   // by the policy, since last collected

  // Of a replica that decodes what others have prefilled.
  struct Swapped {
    std::uint32_t request;
    std::int64_t context;  // KV tokens that the host holds
  };
  std::deque<SeqId> ready;      // their KV has come, and they wait to join; first come, first served
  std::int64_t offered = 0;     // prefilled elsewhere, no memory yet
  Blocks arriving;              // owned by those, and by those whose KV is on the way
  std::deque<Swapped> swapped;  // first out, first in
  Blocks host_free;             // room for the swapped

  // Takes and gives back a sequence's blocks, counted and, where they are named, named.
  void take(SeqId id, Blocks count) {
    kv.take(count);
    if (tables) tables->grow(id, count);
  }
  void give(SeqId id, Blocks count) {
    kv.give(count);
    if (tables) tables->release(id);
  }
  // Gives it a place in the lane, and takes that away.
  void enter(SeqId id, RunningOrder order) {
    ++running;
    order == RunningOrder::kArrival ? lane->running.insert_by_arrival(sequences, id)
                                    : lane->running.push_back(sequences, id);
  }
  void leave(SeqId id) {
    --running;
    lane->running.remove(sequences, id);
  }
  // A block for every sequence that decodes in the lane and whose blocks are full.
  void take_growth();

  // Of one that runs in the lane, or in none.
  [[nodiscard]] std::int64_t owned_blocks(const Sequence& sequence) const { return owned_blocks(sequence, *lane); }
  [[nodiscard]] std::int64_t stored_tokens(const Sequence& sequence) const { return stored_tokens(sequence, *lane); }
  [[nodiscard]] std::int64_t owned_blocks(const Sequence& sequence, const Lane& its) const;
  [[nodiscard]] std::int64_t stored_tokens(const Sequence& sequence, const Lane& its) const;
  [[nodiscard]] std::int64_t tokens_emitted() const;
};

}  // namespace servecast
