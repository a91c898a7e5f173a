#include "policies/scheduling/growth.hpp"

namespace servecast {

bool make_room(ReplicaView& replica, SeqId id, Blocks need) {
  while (replica.free_blocks() < need) {
    const SeqId victim = replica.last_running();
    const bool itself = victim == id;
    replica.preempt(victim);
    if (itself) return false;
  }
  return true;
}

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
    if (!make_room(replica, id, Blocks{1})) return;
    replica.decode(batch, id);
    id = replica.next_running(id);
  }
}

}  // namespace servecast
