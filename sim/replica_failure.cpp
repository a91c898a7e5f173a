// A replica that fails: what is lost, and how much of it had been delivered.
#include <algorithm>

#include "sim/replica.hpp"

namespace servecast {

Replica::Failed Replica::fail(SimTime now) {
  check_conservation();
  stop(now);
  return {std::move(lost_), {offered_.begin(), offered_.end()}};
}

// Of the tokens that count as emitted, those that the step of its lane would have brought.
std::uint32_t Replica::in_flight(SeqId id) const {
  const Sequence& sequence = state_.sequences[id];
  std::uint32_t tokens = 0;
  const auto count = [&](const PlannedStep& step) {
    const auto last_chunk = [&](const PlannedChunk& chunk) { return chunk.last && chunk.sequence == id; };
    tokens += static_cast<std::uint32_t>(std::count_if(step.chunks.begin(), step.chunks.end(), last_chunk));
    const bool ends = std::find(step.finishers.begin(), step.finishers.end(), id) != step.finishers.end();
    const bool sits = std::find(step.sitters.begin(), step.sitters.end(), id) != step.sitters.end();
    const bool member = sequence.phase == Sequence::Phase::kDecode && sequence.stamped && !sits;
    if (step.decodes && (ends || member)) ++tokens;
  };
  if (state_.lane->flies) count(state_.lane->slots[state_.lane->current].plan);
  return tokens;
}

Duration Replica::busy_until(SimTime now) const {
  return counters_.busy + (idle() ? Duration{0} : now - interval_from_);
}

}  // namespace servecast
