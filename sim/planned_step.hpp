// A step from its plan to its end: what runs in it, and what its cost depends on.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/sequence.hpp"
#include "sim/step.hpp"
#include "sim/units.hpp"

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

}  // namespace servecast
