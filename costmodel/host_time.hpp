// What the host adds to a step, for an engine version; 0 where it is hidden or unknown.
#pragma once

#include "sim/step.hpp"

namespace servecast {

struct HostTime {
  Duration per_step{0};
  Duration per_sequence{0};
  // Steps in which nobody decodes cost the host nothing, and in the others only those that decode count. For engines
  // whose time on prompts was measured at the client (ClientLatency), where host and transport can't be told apart.
  bool decode_only = false;

  [[nodiscard]] Duration of(const StepShape& shape) const {
    if (decode_only && shape.decode_sequences == 0) return Duration{0};
    if (per_sequence.count() == 0) return per_step;
    const auto prefills = decode_only ? std::int64_t{0} : static_cast<std::int64_t>(shape.prefills.size());
    return per_step + (shape.decode_sequences + prefills) * per_sequence;
  }
};

}  // namespace servecast
