#include "policies/scaling/target_tracking.hpp"

#include <algorithm>
#include <cmath>

namespace servecast {

std::int64_t TargetTracking::wanted(const FleetLoad& load) {
  const bool busy = options_.measure == TargetTrackingOptions::Measure::kBusy;
  const double needed = static_cast<double>(load.taking) * (busy ? load.busy : load.waiting) / options_.target;
  const std::int64_t active = load.taking + load.ordered;
  const double ratio = needed / static_cast<double>(std::max<std::int64_t>(1, active));
  const bool close = std::abs(ratio - 1) <= options_.tolerance;
  // Shares of whole steps are not exact: a hair above a whole number is that number.
  const std::int64_t wanted = close ? active : static_cast<std::int64_t>(std::ceil(needed - 1e-9));
  return std::clamp(wanted, options_.least, options_.most);
}

}  // namespace servecast
