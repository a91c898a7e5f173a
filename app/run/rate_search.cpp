#include "app/run/rate_search.hpp"

#include <cmath>

namespace servecast {
namespace {

RateBracket bracket(const RateSearch& search, const std::function<bool(double)>& meets) {
  RateBracket found;
  double rate = search.guess;
  if (meets(rate)) {
    while (found.missed == 0) {
      found.met = rate;
      rate *= 2;
      if (rate > search.highest) return found;
      if (!meets(rate)) found.missed = rate;
    }
    return found;
  }
  while (found.met == 0) {
    found.missed = rate;
    rate /= 2;
    if (rate < search.lowest) return found;
    if (meets(rate)) found.met = rate;
  }
  return found;
}

}  // namespace

RateBracket highest_rate(const RateSearch& search, const std::function<bool(double)>& meets) {
  RateBracket found = bracket(search, meets);
  if (found.met == 0 || found.missed == 0) return found;
  while (found.missed > found.met * (1 + search.tolerance)) {
    const double middle = std::sqrt(found.met * found.missed);
    (meets(middle) ? found.met : found.missed) = middle;
  }
  return found;
}

}  // namespace servecast
