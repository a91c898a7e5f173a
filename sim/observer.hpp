// Looks over the engine's shoulder: traces, live comparison, tests. Whoever watches pays per sequence.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "sim/replica_state.hpp"

namespace servecast {

class RunObserver {
 public:
  virtual ~RunObserver() = default;
  // A step was planned. `emitters`: the requests that each emit one token when it ends.
  virtual void planned(const PlannedStep& step, std::span<const std::uint32_t> emitters, const ReplicaState& state) = 0;
  virtual void ended(std::int64_t step, SimTime started_at, SimTime ended_at) = 0;
};

}  // namespace servecast
