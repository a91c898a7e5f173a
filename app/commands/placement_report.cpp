#include "app/commands/placement_report.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "app/results/study_files.hpp"

namespace servecast {

void rank(std::vector<GoodputOfPoint>& points) {
  const auto per_gpu = [](const GoodputOfPoint& point) {
    return point.mean_rate_per_s() / static_cast<double>(device_count(*point.point));
  };
  std::stable_sort(points.begin(), points.end(), [&](const GoodputOfPoint& a, const GoodputOfPoint& b) {
    const double x = per_gpu(a), y = per_gpu(b);
    return x != y ? x > y : device_count(*a.point) < device_count(*b.point);
  });
}

std::string left_out_notes(const std::vector<LeftOut>& left_out) {
  std::string text;
  for (const LeftOut& each : left_out) {
    text += fmt::format("- {} placement{} left out: {}\n", each.placements, each.placements == 1 ? "" : "s", each.why);
  }
  return text;
}

std::string placements_csv(const Study& study, const std::vector<GoodputOfPoint>& points) {
  std::string text = "rank";
  for (const std::string& axis : study.axes) text += "," + csv_cell(axis);
  text +=
      ",gpus,goodput_requests_per_s_per_gpu,goodput_requests_per_s,goodput_least_requests_per_s,"
      "goodput_most_requests_per_s\n";
  for (std::size_t i = 0; i < points.size(); ++i) {
    const GoodputOfPoint& point = points[i];
    const std::int64_t gpus = device_count(*point.point);
    text += std::to_string(i + 1);
    for (const auto& [path, value] : point.point->point->axes) text += "," + csv_cell(value);
    text += fmt::format(",{},{},{},{},{}\n", gpus, point.mean_rate_per_s() / static_cast<double>(gpus),
                        point.mean_rate_per_s(), point.least_rate_per_s(), point.most_rate_per_s());
  }
  return text;
}

}  // namespace servecast
