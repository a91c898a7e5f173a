// Simulated time: an integer count of nanoseconds on a clock of its own, so that sums are exact and a
// wall-clock value cannot be passed by mistake.
#pragma once

#include <chrono>
#include <cstdint>

namespace servecast {

// Not a clock one can ask: the event loop (or, live, the wall clock's adapter) says what time it is.
struct SimClock {
  using rep = std::int64_t;
  using period = std::nano;
  using duration = std::chrono::nanoseconds;
  using time_point = std::chrono::time_point<SimClock, duration>;
};

using Duration = SimClock::duration;
using SimTime = SimClock::time_point;

inline constexpr SimTime kStart{Duration{0}};
inline constexpr SimTime kNever = SimTime::max();

// Seconds are for the edge only: files, reports, formulas. Inside, time stays integral.
[[nodiscard]] inline double seconds(Duration span) { return static_cast<double>(span.count()) * 1e-9; }
[[nodiscard]] inline double seconds(SimTime at) { return seconds(at.time_since_epoch()); }

// at + span, or kNever where that is beyond it. Requires span >= 0 and at >= kStart.
[[nodiscard]] constexpr SimTime after(SimTime at, Duration span) { return span > kNever - at ? kNever : at + span; }

// Rounds to the nearest nanosecond. Requires |value| below 292 years; readers check their input first.
[[nodiscard]] Duration from_seconds(double value);

}  // namespace servecast
