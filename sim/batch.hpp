// What a scheduler decides: the batch of the next step, and what it could not do.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/sequence.hpp"
#include "sim/time.hpp"
#include "sim/units.hpp"

namespace servecast {

// What keeps the head of the waiting queue (and all behind it) waiting.
enum class Blocker : std::uint8_t { kNone, kSlot, kBudget, kMemory };

// What to do when a plan ran nothing but preempted. (A plan that did neither waits.)
enum class WhenEmpty : std::uint8_t {
  kWait,   // until something arrives, ends, or the plan's timer is due
  kAgain,  // ask the scheduler again at once: now others may run
  kPass,   // let one empty step pass, then ask again
};

struct Batch {
  struct Prefill {
    SeqId sequence;
    Tokens tokens;
  };
  // Static batching pads: every slot computes as much as the longest.
  struct Padding {
    std::int64_t slots;
    Tokens longest;  // prompt to which a prefill is padded, or the context of every decoding slot
  };

  std::vector<Prefill> prefills;
  bool decode_all = false;         // every decoding sequence runs
  std::int64_t decode_listed = 0;  // or so many of them do, each listed by name
  std::optional<Padding> padding;
  Blocker blocked_by = Blocker::kNone;
  WhenEmpty when_empty = WhenEmpty::kWait;
  SimTime wake_at = kNever;  // ask again then, whatever happens
  Blocks swapped;            // moved between device and host before the step
  // Set when asking again would decide the same (decode everybody, admit nobody) until a request arrives or
  // ends, or until so few blocks would be left after the growth of all: the engine then need not ask.
  std::optional<Blocks> steady_above;

  [[nodiscard]] bool empty() const { return prefills.empty() && !decode_all && decode_listed == 0; }
  void clear() {
    prefills.clear();
    decode_all = false;
    decode_listed = 0;
    padding.reset();
    blocked_by = Blocker::kNone;
    when_empty = WhenEmpty::kWait;
    wake_at = kNever;
    swapped = Blocks{0};
    steady_above.reset();
  }
};

}  // namespace servecast
