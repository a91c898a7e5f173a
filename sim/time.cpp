#include "sim/time.hpp"

#include <cassert>
#include <cmath>

namespace servecast {

Duration from_seconds(double value) {
  assert(std::abs(value) < 9.2e9);
  return Duration{std::llround(value * 1e9)};
}

}  // namespace servecast
