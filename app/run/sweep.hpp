// All points of a study, on as many threads as asked for. Which thread runs a point changes nothing in it.
#pragma once

#include <functional>
#include <vector>

#include "app/run/progress.hpp"
#include "app/run/run_point.hpp"

namespace servecast {

// Every point loaded and planned, in grid order. Throws InputError that names the point.
[[nodiscard]] std::vector<PreparedPoint> prepare_sweep(const Study& study, TraceCache& traces);

// Calls act(index) for every point, on `threads` threads (0: one a core). When some throw, throws the error of the
// first of them in order, of the same type, with the point's axes in its message.
void for_each_point(const std::vector<PreparedPoint>& points, int threads, const std::function<void(std::size_t)>& act);

// Called on the thread that ran the point, with its requests; they are gone afterwards.
using PointSink = std::function<void(std::size_t index, const PointResult&, const RequestTable&)>;

// Results in grid order; threads and errors as for_each_point.
[[nodiscard]] std::vector<PointResult> run_sweep(const std::vector<PreparedPoint>& points, int threads,
                                                 ProgressBoard& board, const PointSink& sink = {});

// "policy=orca, rate=8": the last words of the axes' paths; empty for the only point.
[[nodiscard]] std::string axes_text(const std::vector<std::pair<std::string, std::string>>& axes);
// "workload.arrivals.poisson.rate" -> "rate".
[[nodiscard]] std::string axis_title(const std::string& path);

}  // namespace servecast
