// A request's time by cause.
#pragma once

#include <numeric>

#include "sim/request.hpp"

namespace servecast::test {

inline Duration sum_of_causes(const Request& r) { return std::accumulate(r.spent.begin(), r.spent.end(), Duration{0}); }

}  // namespace servecast::test
