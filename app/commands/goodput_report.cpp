#include "app/commands/goodput_report.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <set>

#include "app/results/text_table.hpp"
#include "app/run/sweep.hpp"

namespace servecast {
namespace {

using Json = nlohmann::ordered_json;

const char* name(Stability stability) {
  switch (stability) {
    case Stability::kStable:
      return "stable";
    case Stability::kGrowing:
      return "growing";
    case Stability::kTooShort:
      return "too short to tell";
  }
  return "";
}

std::string slo_text(const Slo& slo) {
  std::string text = fmt::format("{:g} % of the requests with", slo.attainment * 100);
  const auto add = [&](const char* metric, const std::optional<double>& bound) {
    if (bound) text += fmt::format("{} {} <= {}", text.ends_with("with") ? "" : " and", metric, human_seconds(*bound));
  };
  add("TTFT", slo.ttft_s);
  add("TPOT", slo.tpot_s);
  add("E2E", slo.e2e_s);
  return text;
}

// Each different limit of the seeds, once.
std::string limits_of(const GoodputOfPoint& point) {
  std::set<std::string> limits;
  for (const GoodputFound& found : point.seeds) limits.insert(found.limit());
  return fmt::format("{}", fmt::join(limits, ", "));
}

// At the found rate, averaged over the seeds that found one.
double mean_at_rate(const GoodputOfPoint& point, double RateProbe::*value) {
  double sum = 0, count = 0;
  for (const GoodputFound& found : point.seeds) {
    const RateProbe* probe = found.probe_at(found.rate_per_s);
    if (probe == nullptr) continue;
    sum += probe->*value;
    count += 1;
  }
  return count > 0 ? sum / count : 0;
}

std::vector<std::string> row_of(const GoodputOfPoint& point) {
  std::vector<std::string> cells;
  for (const auto& [path, value] : point.point->point->axes) cells.push_back(value);
  const double rate = point.mean_rate_per_s();
  const std::int64_t gpus = device_count(*point.point);
  cells.push_back(rate > 0 ? human_number(rate) : "none");
  cells.push_back(human_number(point.least_rate_per_s()) + " to " + human_number(point.most_rate_per_s()));
  cells.push_back(std::to_string(gpus));
  cells.push_back(human_number(rate / static_cast<double>(gpus)));
  cells.push_back(fmt::format("{:.1f} %", mean_at_rate(point, &RateProbe::attainment) * 100));
  cells.push_back(human_number(mean_at_rate(point, &RateProbe::output_tokens_rate)));
  cells.push_back(limits_of(point));
  cells.push_back(std::to_string(point.runs()));
  return cells;
}

Json probe_json(const RateProbe& probe) {
  return {{"rate_requests_per_s", probe.rate_per_s}, {"met", probe.met},
          {"queue", name(probe.stability)},          {"attainment", probe.attainment},
          {"ttft_met_share", probe.ttft_met},        {"tpot_met_share", probe.tpot_met},
          {"e2e_met_share", probe.e2e_met},          {"output_tokens_per_s", probe.output_tokens_rate}};
}

Json seed_json(const GoodputFound& found) {
  Json probes = Json::array();
  for (const RateProbe& probe : found.probes) probes.push_back(probe_json(probe));
  return {{"seed", found.probes.front().seed},
          {"goodput_requests_per_s", found.rate_per_s},
          {"missed_requests_per_s", found.missed_rate_per_s > 0 ? Json(found.missed_rate_per_s) : Json()},
          {"limit", found.limit()},
          {"runs", std::move(probes)}};
}

Json point_json(const GoodputOfPoint& point) {
  Json axes = Json::object(), seeds = Json::array();
  for (const auto& [path, value] : point.point->point->axes) axes[path] = value;
  for (const GoodputFound& found : point.seeds) seeds.push_back(seed_json(found));
  const std::int64_t gpus = device_count(*point.point);
  return {{"axes", std::move(axes)},
          {"goodput_requests_per_s", point.mean_rate_per_s()},
          {"goodput_least_requests_per_s", point.least_rate_per_s()},
          {"goodput_most_requests_per_s", point.most_rate_per_s()},
          {"gpus", gpus},
          {"goodput_requests_per_s_per_gpu", point.mean_rate_per_s() / static_cast<double>(gpus)},
          {"seeds", std::move(seeds)}};
}

}  // namespace

double GoodputOfPoint::mean_rate_per_s() const {
  double sum = 0;
  for (const GoodputFound& found : seeds) sum += found.rate_per_s;
  return sum / static_cast<double>(seeds.size());
}

double GoodputOfPoint::least_rate_per_s() const {
  double least = seeds.front().rate_per_s;
  for (const GoodputFound& found : seeds) least = std::min(least, found.rate_per_s);
  return least;
}

double GoodputOfPoint::most_rate_per_s() const {
  double most = 0;
  for (const GoodputFound& found : seeds) most = std::max(most, found.rate_per_s);
  return most;
}

std::size_t GoodputOfPoint::runs() const {
  std::size_t runs = 0;
  for (const GoodputFound& found : seeds) runs += found.probes.size();
  return runs;
}

std::string goodput_table(const Study& study, const std::vector<GoodputOfPoint>& points) {
  TextTable table;
  for (const std::string& axis : study.axes) table.column(axis_title(axis), TextTable::Align::kLeft);
  for (const char* title : {"goodput/s", "over the seeds", "GPUs", "per GPU", "SLO met", "out tok/s"}) {
    table.column(title);
  }
  table.column("what stops more", TextTable::Align::kLeft);
  table.column("runs");
  for (const GoodputOfPoint& point : points) table.row(row_of(point));
  return table.text();
}

std::string goodput_notes(const std::vector<GoodputOfPoint>& points, double tolerance) {
  std::vector<std::string> notes;
  const auto add = [&](const std::string& note) {
    if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
  };
  for (const GoodputOfPoint& point : points) {
    const Experiment& experiment = point.point->point->experiment;
    add("goodput: the highest rate at which " + slo_text(experiment.summary.slo) + " hold, and the queue is stable");
  }
  add(fmt::format(
      "each seed's rate is within {:g} % of one that misses; the spread over the seeds is what a run of this "
      "length can tell",
      tolerance * 100));
  for (const GoodputOfPoint& point : points) {
    for (const GoodputFound& found : point.seeds) {
      if (found.limit() == "the run is too short to tell") {
        add("where the run is too short to tell, all requests come within the life of one: ask for more requests");
      }
    }
  }
  std::string text;
  for (const std::string& note : notes) text += fmt::format("- {}\n", note);
  return text;
}

std::string goodput_json(const std::vector<GoodputOfPoint>& points, double tolerance) {
  Json list = Json::array();
  for (const GoodputOfPoint& point : points) list.push_back(point_json(point));
  const Json json{{"servecast", SERVECAST_VERSION}, {"tolerance", tolerance}, {"points", std::move(list)}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace servecast
