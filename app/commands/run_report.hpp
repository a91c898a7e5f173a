// What `servecast run` prints.
#pragma once

#include <string>
#include <vector>

#include "app/run/run_point.hpp"

namespace servecast {

// One line for each different memory plan, with the points it belongs to where there are several.
[[nodiscard]] std::string memory_lines(const std::vector<PreparedPoint>& points);

// One row a point: axes, completed of offered, latencies, SLOs where there are any, KV peak, preemptions, speed.
// A percentile that fewer than ten samples lie beyond has a '~'.
[[nodiscard]] std::string result_table(const Study& study, const std::vector<PreparedPoint>& points,
                                       const std::vector<PointResult>& results);

// What each replica of the point did; of many, the first ones. Empty where there is one replica.
[[nodiscard]] std::string replica_table(const PointResult& result);

// Asked and realised load, and each note once, with the points it belongs to.
[[nodiscard]] std::string result_notes(const std::vector<PreparedPoint>& points,
                                       const std::vector<PointResult>& results);

}  // namespace servecast
