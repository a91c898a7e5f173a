// The question of where a request is prefilled and where it is decoded, both decided when it arrives.
#pragma once

#include <cstdint>

#include "sim/replica_id.hpp"
#include "sim/router.hpp"

namespace servecast {

struct Destinations {
  ReplicaId prefill, decode;  // may be the same
};

enum class Milestone : std::uint8_t {
  kPrefilled,  // its first token is out, and not its last
  kMoved,      // its KV has left the replica that prefilled it
  kEnded,
};

class Dispatcher {
 public:
  virtual ~Dispatcher() = default;

  // `waiting`: the requests in each replica's queue, not started, as it reports.
  virtual Destinations place(const RoutedRequest& request, const RouterView& waiting) = 0;
  // In order of time. kMoved only where it is decoded elsewhere; of two at one instant any may be told first.
  virtual void reached(RequestId request, Milestone milestone) = 0;
};

}  // namespace servecast
