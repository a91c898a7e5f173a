#include "app/commands/run_report.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <set>
#include <utility>

#include "app/results/metrics.hpp"
#include "app/results/text_table.hpp"
#include "app/run/sweep.hpp"

namespace servecast {
namespace {

constexpr std::size_t kMostReplicas = 16;  // that a table shows
constexpr std::size_t kMostNamed = 3;      // points that a line names; more are counted

// Lines in order of first appearance, each with the points that have it.
class GroupedLines {
 public:
  void add(const std::string& line, std::size_t point) {
    const auto found = std::find_if(lines_.begin(), lines_.end(), [&](const auto& l) { return l.first == line; });
    if (found == lines_.end()) {
      lines_.push_back({line, {point}});
    } else {
      found->second.push_back(point);
    }
  }

  [[nodiscard]] std::string text(const std::vector<PreparedPoint>& points, std::string_view bullet) const {
    std::string out;
    for (const auto& [line, having] : lines_) {
      out += fmt::format("{}{}{}\n", bullet, line, whose(having, points));
    }
    return out;
  }

 private:
  static std::string whose(const std::vector<std::size_t>& having, const std::vector<PreparedPoint>& points) {
    if (having.size() == points.size()) return {};
    if (having.size() > kMostNamed) return fmt::format("  [{} of {} points]", having.size(), points.size());
    std::string names;
    for (const std::size_t point : having) {
      names += (names.empty() ? "" : "; ") + axes_text(points[point].point->axes);
    }
    return "  [" + names + "]";
  }

  std::vector<std::pair<std::string, std::vector<std::size_t>>> lines_;
};

std::string latency(const Distribution& d, double value, double q) {
  if (d.count == 0) return "-";
  return (d.thin(q) ? "~" : "") + human_seconds(value);
}

std::string percent(double share) { return fmt::format("{:.1f} %", share * 100); }

std::vector<std::string> cells_of(const PointResult& result, bool slo) {
  const Summary& s = result.summary;
  std::vector<std::string> cells{
      human_count(s.completed) + "/" + human_count(s.offered),
      latency(s.ttft, s.ttft.p50_s, 0.50),
      latency(s.ttft, s.ttft.p99_s, 0.99),
      latency(s.tpot, s.tpot.p50_s, 0.50),
      latency(s.tpot, s.tpot.p99_s, 0.99),
      latency(s.itl, s.itl.p99_s, 0.99),
      latency(s.e2e, s.e2e.p50_s, 0.50),
  };
  if (slo) {
    cells.push_back(percent(s.attainment));
    cells.push_back(s.to > s.from ? human_number(s.goodput) + "/s" : "-");
  }
  const double peak =
      static_cast<double>(result.run.peak_blocks.count()) / static_cast<double>(result.run.usable_blocks.count());
  cells.push_back(percent(peak));
  cells.push_back(human_count(result.run.preemptions));
  cells.push_back(human_number(s.output_tokens_rate));
  return cells;
}

// The values of one axis, point by point; paths by their files' names where those still tell them apart.
std::vector<std::string> axis_values(const std::vector<PointResult>& results, std::size_t axis) {
  std::vector<std::string> whole, names;
  for (const PointResult& result : results) {
    whole.push_back(result.axes[axis].second);
    const bool map = whole.back().starts_with('{');
    names.push_back(map ? whole.back() : std::filesystem::path(whole.back()).filename().string());
  }
  const std::size_t distinct = std::set<std::string>(whole.begin(), whole.end()).size();
  return std::set<std::string>(names.begin(), names.end()).size() == distinct ? names : whole;
}

std::string load_line(const PreparedPoint& point, const PointResult& result) {
  const Realised& r = result.realised;
  const double requests = std::max(1.0, static_cast<double>(r.requests));
  return fmt::format("load: {} ({}); realised {} requests at {}/s, {} prompt and {} output tokens on average",
                     describe(result.arrivals), describe_lengths(point.point->experiment), human_count(r.requests),
                     human_number(r.rate_per_s()), human_number(static_cast<double>(r.prompt_tokens) / requests),
                     human_number(static_cast<double>(r.output_tokens) / requests));
}

}  // namespace

std::string memory_lines(const std::vector<PreparedPoint>& points) {
  GroupedLines lines;
  for (std::size_t i = 0; i < points.size(); ++i) {
    lines.add(describe_memory(points[i].deployment), i);
    if (points[i].decode) lines.add(describe_memory(*points[i].decode), i);
  }
  return lines.text(points, "");
}

std::string result_table(const Study& study, const std::vector<PreparedPoint>& points,
                         const std::vector<PointResult>& results) {
  const bool slo = std::any_of(points.begin(), points.end(),
                               [](const PreparedPoint& p) { return p.point->experiment.summary.slo.any(); });
  TextTable table;
  for (const std::string& axis : study.axes) table.column(axis_title(axis), TextTable::Align::kLeft);
  for (const char* title : {"done", "TTFT p50", "TTFT p99", "TPOT p50", "TPOT p99", "ITL p99", "E2E p50"}) {
    table.column(title);
  }
  if (slo) {
    table.column("SLO met");
    table.column("goodput");
  }
  for (const char* title : {"KV peak", "preempt.", "out tok/s"}) table.column(title);
  std::vector<std::vector<std::string>> axes;
  for (std::size_t axis = 0; axis < study.axes.size(); ++axis) axes.push_back(axis_values(results, axis));
  for (std::size_t i = 0; i < results.size(); ++i) {
    std::vector<std::string> row;
    for (const std::vector<std::string>& values : axes) row.push_back(values[i]);
    for (std::string& cell : cells_of(results[i], slo)) row.push_back(std::move(cell));
    table.row(std::move(row));
  }
  return table.text();
}

std::string replica_table(const PointResult& result) {
  const std::vector<ReplicaResult>& replicas = result.run.replicas;
  if (replicas.size() < 2) return {};
  TextTable table;
  for (const char* title : {"replica", "requests", "busy", "KV peak", "preempt.", "out tokens"}) table.column(title);
  for (std::size_t i = 0; i < std::min(replicas.size(), kMostReplicas); ++i) {
    const ReplicaResult& r = replicas[i];
    const double peak = static_cast<double>(r.peak_blocks.count()) / static_cast<double>(r.usable_blocks.count());
    table.row({std::to_string(i), human_count(r.requests), percent(busy_share(r, result.summary)), percent(peak),
               human_count(r.preemptions), human_count(r.tokens_emitted)});
  }
  const std::size_t more = replicas.size() - std::min(replicas.size(), kMostReplicas);
  return table.text() + (more > 0 ? fmt::format("and {} more, in summary.json\n", more) : std::string{});
}

std::string result_notes(const std::vector<PreparedPoint>& points, const std::vector<PointResult>& results) {
  GroupedLines lines;
  for (std::size_t i = 0; i < results.size(); ++i) lines.add(load_line(points[i], results[i]), i);
  for (std::size_t i = 0; i < results.size(); ++i) {
    for (const std::string& note : results[i].notes) lines.add(note, i);
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (thin_percentiles(results[i].summary).empty()) continue;
    lines.add("~ marks a percentile beyond which fewer than ten samples lie", i);
  }
  return lines.text(points, "- ");
}

}  // namespace servecast
