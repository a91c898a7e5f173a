#pragma once

#include <cstdint>

namespace servecast {

enum class ReplicaId : std::uint32_t {};  // the position in the cluster, from 0

[[nodiscard]] constexpr std::uint32_t index_of(ReplicaId replica) { return static_cast<std::uint32_t>(replica); }

}  // namespace servecast
