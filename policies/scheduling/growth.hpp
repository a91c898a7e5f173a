// Making room for sequences that grow, and the "one free block" rule that vLLM V0 and Sarathi share: a decoding
// sequence runs only while at least one block is free, whether it needs one or not; otherwise the latest to arrive is
// thrown out.
#pragma once

#include "sim/replica_view.hpp"

namespace servecast {

// Preempts from the back of the running set until `need` blocks are free. False when `id` itself had to go.
bool make_room(ReplicaView& replica, SeqId id, Blocks need);

// Decodes all that can; preempts from the back of the running set. O(1) unless memory is short.
void decode_with_a_spare_block(ReplicaView& replica, Batch& batch);

}  // namespace servecast
