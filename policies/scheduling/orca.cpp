#include "policies/scheduling/orca.hpp"

#include <bit>

namespace servecast {

Tokens OrcaScheduler::reservation(const RequestView& request) const {
  switch (options_.reserve) {
    case Reservation::kMaxTokens:
      return request.prompt + request.max_tokens;
    case Reservation::kMax:
      return options_.max_len;
    case Reservation::kExact:
      return request.prompt + oracle_.output_of(request.id);
    case Reservation::kPowerOfTwo:
      break;
  }
  const auto output = static_cast<std::uint64_t>(oracle_.output_of(request.id).count());
  return request.prompt + Tokens{static_cast<std::int64_t>(std::bit_ceil(output))};
}

void OrcaScheduler::next_batch(ReplicaView& replica, SimTime, Batch& batch) {
  replica.decode_all(batch);
  while (replica.has_waiting()) {
    if (replica.running_count() >= options_.max_batch) {
      batch.blocked_by = Blocker::kSlot;
      break;
    }
    const RequestView head = replica.head();
    const Blocks need = replica.blocks_of(reservation(head));
    const bool too_long = options_.reserve == Reservation::kMax && head.prompt + head.max_tokens > options_.max_len;
    if (too_long || need > replica.usable_blocks()) {
      replica.refuse_head(too_long ? Refusal::kReservation : Refusal::kCache);
      continue;
    }
    if (need > replica.free_blocks()) {
      batch.blocked_by = Blocker::kMemory;
      break;
    }
    replica.admit_head(batch, need, head.to_prefill(), RunningOrder::kArrival);
  }
  if (batch.prefills.empty()) batch.steady_above = Blocks{0};
}

}  // namespace servecast
