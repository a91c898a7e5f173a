// Whether a queue is stable: whether latencies say something of the rate, or only of how long the run was.
#pragma once

#include <cstdint>

#include "sim/request_table.hpp"

namespace servecast {

enum class Stability : std::uint8_t {
  kStable,
  kGrowing,   // the wait grows with time: more comes than is served
  kTooShort,  // all came within the life of one request: nothing can be said
};

// A queue grows where the mean wait of the last quarter of the arrivals exceeds that of the quarter before by more than
// 1 % of the time between them (a load of ρ > 1 makes it grow by ρ − 1 a second) and by more than a tenth of what a
// request takes when it does not wait. A run is too short where its arrivals span less than twice that.
// Fewer than 40 requests are always too short.
[[nodiscard]] Stability stability_of(const RequestTable& requests);

}  // namespace servecast
