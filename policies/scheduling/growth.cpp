#include "policies/scheduling/growth.hpp"

namespace servecast {
namespace {

// Frees blocks until one is free. False when `id` itself had to go.
bool make_room_for(ReplicaView& replica, SeqId id) {
  while (replica.free_blocks() < Blocks{1}) {
    const SeqId victim = replica.last_running();
    const bool itself = victim == id;
    replica.preempt(victim);
    if (itself) return false;
  }
  return true;
}

}  // namespace

void decode_with_a_spare_block(ReplicaView& replica, Batch& batch) {
  if (replica.free_blocks() > replica.decode_growth()) {
    replica.decode_all(batch);
    return;
  }
  SeqId id = replica.first_running();
  while (id != kNoSeq) {
    if (!replica.decodes(id)) {
      id = replica.next_running(id);
      continue;
    }
    if (!make_room_for(replica, id)) return;
    replica.decode(batch, id);
    id = replica.next_running(id);
  }
}

}  // namespace servecast
