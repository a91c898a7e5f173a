#pragma once

#include "sim/replica_view.hpp"

namespace servecast {

// ⌊fraction · total⌋ blocks that admission leaves free, so that those who run can grow.
[[nodiscard]] inline Blocks watermark_blocks(const ReplicaView& replica, double fraction) {
  return Blocks{static_cast<std::int64_t>(fraction * static_cast<double>(replica.usable_blocks().count()))};
}

}  // namespace servecast
