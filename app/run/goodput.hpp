// Goodput: the highest rate at which the stated share of the requests meets every SLO, and the queue is stable.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/run/run_point.hpp"
#include "app/run/stability.hpp"

namespace servecast {

// One run of the search.
struct RateProbe {
  double rate_per_s = 0;  // asked for
  std::uint64_t seed = 0;
  bool met = false;
  Stability stability = Stability::kStable;
  double attainment = 0;
  double ttft_met = 0, tpot_met = 0, e2e_met = 0;  // shares of the offered; 1 where no such SLO is stated
  double output_tokens_rate = 0;
};

// Of one seed.
struct GoodputFound {
  double rate_per_s = 0;          // 0: not even the lowest rate that was tried met
  double missed_rate_per_s = 0;   // within the tolerance above it; 0: none was found, the run is too short to tell
  std::vector<RateProbe> probes;  // in the order in which they ran

  [[nodiscard]] const RateProbe* probe_at(double rate_per_s) const;
  // What stops a higher rate: "TTFT", "TPOT", "E2E", "the queue grows", or "the run is too short to tell".
  [[nodiscard]] std::string limit() const;
};

// Throws InputError where the point states no SLO, or its arrivals have no rate to search.
void check_goodput_is_defined(const PreparedPoint& prepared);

// Runs the point at one rate after the other, with the same random numbers at each, until the highest that meets is
// known to `tolerance`. Results depend on the point and the seed alone.
[[nodiscard]] GoodputFound find_goodput(const PreparedPoint& prepared, std::uint64_t seed, double tolerance,
                                        const Progress& progress = {});

// Runs a point whose rate is to be searched at the rate that was found, or at the lowest that was tried where none met;
// a note says which.
[[nodiscard]] PointResult run_at_goodput(const PreparedPoint& prepared, RequestTable& requests,
                                         const Progress& progress = {});

// Where the search of a sweep's axis stops: the found rate is within 1 % of one that misses.
inline constexpr double kGoodputTolerance = 0.01;

}  // namespace servecast
