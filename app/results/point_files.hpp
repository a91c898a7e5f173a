// The files of one point: summary.json, requests.csv, timeline.csv. docs/results.md describes each.
#pragma once

#include <filesystem>
#include <string>

#include "app/run/run_point.hpp"
#include "sim/request_table.hpp"
#include "sim/timeline.hpp"

namespace servecast {

[[nodiscard]] std::string summary_json(const PreparedPoint& point, const PointResult& result);

// Each throws InputError where the file cannot be written. Rows name their replica where there are `several`.
void write_requests_csv(const std::filesystem::path& path, const RequestTable& requests, bool several = false);
void write_timeline_csv(const std::filesystem::path& path, const PreparedPoint& point, const RunResult& run);
void write_point_files(const std::filesystem::path& folder, const PreparedPoint& point, const PointResult& result,
                       const RequestTable& requests);

}  // namespace servecast
