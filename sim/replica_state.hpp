// The planning state of one replica: who waits, who runs, who owns which memory. It runs ahead of the
// clock: a token counts as soon as the step that computes it is planned.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "sim/accounting.hpp"
#include "sim/block_tables.hpp"
#include "sim/cohort.hpp"
#include "sim/emissions.hpp"
#include "sim/kv_cache.hpp"
#include "sim/request_table.hpp"
#include "sim/sequence.hpp"
#include "sim/step.hpp"
#include "sim/wait_queue.hpp"

namespace servecast {

// A chunk of a planned step. `sequence` becomes kNoSeq when it was preempted while the step was in flight.
struct PlannedChunk {
  SeqId sequence;
  std::uint32_t request;
  bool last;        // completes the prefill: this step emits a token of it
  bool ends;        // and that token is its last
  bool hands_over;  // or its last here: another replica decodes it
  bool recompute;   // computes again what preemption threw away
};

// A step from its plan to its end.
struct PlannedStep {
  std::int64_t number = -1;
  bool decodes = false;  // the cohort decodes in it (all or some)
  Blocks swapped;        // moved between device and host before it
  std::int64_t decode_count = 0;
  std::vector<PlannedChunk> chunks;
  std::vector<PrefillChunk> prefills;  // what its cost depends on
  std::vector<PrefillChunk> padded;    // and where the batch is padded, this instead
  std::vector<SeqId> finishers;        // decoding sequences whose last token it emits
  std::vector<SeqId> sitters;          // decoding sequences that it leaves out
  std::vector<std::uint32_t> orphans;  // requests preempted while their token was in flight: it still comes
  StepShape shape;

  void clear() {
    decodes = false;
    swapped = Blocks{0};
    decode_count = 0;
    chunks.clear();
    prefills.clear();
    padded.clear();
    finishers.clear();
    sitters.clear();
    orphans.clear();
    shape = StepShape{};
  }
};

struct ReplicaState {
  ReplicaState(RequestTable& table, Blocks usable, Tokens block_size, bool growing, std::optional<Tokens> window)
      : requests(table), kv(usable, block_size), cohort(block_size, growing, window), grows(growing) {}

  RequestTable& requests;
  KvCache kv;
  std::optional<BlockTables> tables;  // where blocks are named, not only counted
  Cohort cohort;
  Tokens max_model_len{std::int64_t{1} << 31};
  bool grows;  // decoding sequences take blocks as they grow; otherwise all was reserved at admission
  WaitQueue waiting;
  Sequences sequences;
  RunningList running;
  std::int64_t prefilling = 0;  // running sequences whose prefill is not all planned
  std::int64_t kv_tokens = 0;   // Σ tokens whose KV is stored (planned)
  std::int64_t preemptions = 0;
  std::int64_t step_number = 0;  // of the plan being made
  SimTime now = kStart;
  Accounting account;
  Emissions emissions;
  PlannedStep* in_flight = nullptr;    // the step that runs while the next is planned (asynchronous scheduling)
  std::vector<std::uint32_t> refused;  // by the policy, since last collected

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
  // A block for every decoding sequence whose blocks are full.
  void take_growth();

  [[nodiscard]] std::int64_t owned_blocks(const Sequence& sequence) const;
  [[nodiscard]] std::int64_t stored_tokens(const Sequence& sequence) const;
};

}  // namespace servecast
