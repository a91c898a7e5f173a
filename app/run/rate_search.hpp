// The highest rate at which something still holds, found by trying rates.
#pragma once

#include <functional>

namespace servecast {

struct RateBracket {
  double met = 0;     // the highest rate tried that met; 0: none did
  double missed = 0;  // the lowest tried above it that did not; 0: none was found
};

struct RateSearch {
  double guess = 1;         // where it begins; above 0
  double tolerance = 0.01;  // stop when missed <= met · (1 + tolerance)
  double lowest = 1e-6;     // below it nothing is tried: met stays 0
  double highest = 1e6;     // above it nothing is tried: missed stays 0
};

// Doubles or halves until the rate is bracketed, then bisects on a logarithmic scale. `meets` need not be monotone:
// the answer then is one of the places where it changes from met to missed.
[[nodiscard]] RateBracket highest_rate(const RateSearch& search, const std::function<bool(double rate)>& meets);

}  // namespace servecast
