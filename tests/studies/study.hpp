// A study of experiments/, run in memory, and held against its expected.json.
#pragma once

#include <cmath>
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "app/experiment/experiment.hpp"
#include "app/results/point_files.hpp"
#include "app/run/sweep.hpp"

namespace servecast::test {

using Json = nlohmann::json;
using Axes = std::map<std::string, std::string>;

struct RanPoint {
  Axes axes;
  Json summary;  // as summary.json has it
  std::int64_t most_running = 0;
};

inline std::filesystem::path study_folder(const std::string& name) {
  return std::filesystem::path(SERVECAST_SOURCE_DIR) / "experiments" / name;
}

inline std::vector<RanPoint> run_study(const std::string& name, const std::string& file = "experiment.yaml") {
  const Study study = load_study(study_folder(name) / file);
  TraceCache traces;
  const std::vector<PreparedPoint> prepared = prepare_sweep(study, traces);
  std::ostringstream nowhere;
  ProgressBoard board(ProgressBoard::Style::kQuiet, nowhere, prepared.size(), 0);
  const std::vector<PointResult> results = run_sweep(prepared, 0, board);
  std::vector<RanPoint> points;
  for (std::size_t i = 0; i < results.size(); ++i) {
    RanPoint point{Axes(results[i].axes.begin(), results[i].axes.end()),
                   Json::parse(summary_json(prepared[i], results[i]))};
    for (const TimelineSample& sample : results[i].run.replicas[0].timeline) {
      point.most_running = std::max(point.most_running, sample.running);
    }
    points.push_back(std::move(point));
  }
  return points;
}

inline Json expected_of(const std::string& name, const std::string& expected = "expected.json") {
  std::ifstream file(study_folder(name) / expected);
  return Json::parse(file);
}

inline std::string text_of(const Axes& axes) { return Json(axes).dump(); }

// Absent stays absent, zero stays zero; the rest may move by `tolerance` of what is expected.
inline bool agrees(const Json& expected, const Json& found, double tolerance) {
  if (expected.is_null() || found.is_null()) return expected.is_null() && found.is_null();
  const double wanted = expected.get<double>();
  return std::abs(found.get<double>() - wanted) <= tolerance * std::abs(wanted);
}

// Every expected metric of every point, in grid order; nothing may be missing on either side.
inline void hold(const std::vector<RanPoint>& points, const Json& expected) {
  const double tolerance = expected.at("relative_tolerance").get<double>();
  REQUIRE(points.size() == expected.at("points").size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Json& wanted = expected.at("points").at(i);
    REQUIRE(points[i].axes == wanted.at("axes").get<Axes>());
    REQUIRE_FALSE(wanted.at("metrics").empty());
    for (const auto& [key, value] : wanted.at("metrics").items()) {
      INFO(text_of(points[i].axes));
      REQUIRE_MESSAGE(points[i].summary.contains(key), key);
      CHECK_MESSAGE(agrees(value, points[i].summary.at(key), tolerance),
                    key << ": expected " << value.dump() << ", found " << points[i].summary.at(key).dump());
    }
  }
}

// The metric of the one point whose axes, named by the last word of their paths, have these values.
inline double value_at(const std::vector<RanPoint>& points, const Axes& wanted, const std::string& metric) {
  const RanPoint* found = nullptr;
  for (const RanPoint& point : points) {
    bool fits = true;
    for (const auto& [title, value] : wanted) {
      bool has = false;
      for (const auto& [path, its] : point.axes) has = has || (axis_title(path) == title && its == value);
      fits = fits && has;
    }
    if (!fits) continue;
    REQUIRE_MESSAGE(found == nullptr, "two points have " << text_of(wanted));
    found = &point;
  }
  REQUIRE_MESSAGE(found != nullptr, "no point has " << text_of(wanted));
  return found->summary.at(metric).get<double>();
}

}  // namespace servecast::test
