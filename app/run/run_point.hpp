// One point of a study, run in memory.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/experiment/experiment.hpp"
#include "app/run/deployment.hpp"
#include "app/run/inputs.hpp"
#include "app/run/placed_fleet.hpp"
#include "sim/request_table.hpp"
#include "sim/simulation.hpp"
#include "sim/summary.hpp"
#include "traces/workload.hpp"

namespace servecast {

// What is known of a point before it runs.
struct PreparedPoint {
  const GridPoint* point = nullptr;
  Deployment deployment;                     // of the prefill pool, where there are pools
  std::optional<Deployment> decode;          // and of the decode pool
  std::shared_ptr<const PlacedFleet> fleet;  // where there is a topology: all replicas of both
  const LoadedTrace* trace = nullptr;        // none where lengths are drawn
};

struct PointResult {
  std::vector<std::pair<std::string, std::string>> axes;
  ArrivalSpec arrivals;  // as run: at the rate that was found, where it was to be searched
  RunResult run;
  Summary summary;
  Realised realised;
  std::optional<LinkUse> busiest_link;  // of the topology, by KV that went from pool to pool; none where none did
  std::vector<std::string> notes;       // deployment, trace, and what happened, for a reader of the results
};

// What replica number `replica` of the point is; those that prefill come before those that decode.
[[nodiscard]] const Deployment& deployment_of(const PreparedPoint& point, std::size_t replica);

// Devices of all its replicas, both pools together.
[[nodiscard]] std::int64_t device_count(const PreparedPoint& point);

// Loads what the point needs; `traces` keeps what it read. Throws InputError.
[[nodiscard]] PreparedPoint prepare_point(const GridPoint& point, TraceCache& traces);

// Runs it into `requests` (empty on entry). Results depend on the point alone. Throws InputError, SelfCheckError
// and StalledError.
[[nodiscard]] PointResult run_point(const PreparedPoint& prepared, RequestTable& requests,
                                    const Progress& progress = {});

// The requests that it asks for, for a progress bar; those of the trace where the experiment names no number.
[[nodiscard]] std::uint64_t requests_asked(const PreparedPoint& prepared);

// "conversation.csv, rows in order; poisson, 8 requests/s"
[[nodiscard]] std::string describe_lengths(const Experiment& experiment);

}  // namespace servecast
