// The collectives that a step calls for.
#pragma once

#include <cstdint>

namespace servecast {

enum class Collective : std::uint8_t { kAllReduce, kAllGather, kReduceScatter, kAllToAll };

}  // namespace servecast
