#include "app/results/study_files.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/results/metrics.hpp"
#include "app/results/planned.hpp"
#include "app/results/results_folder.hpp"

namespace servecast {
namespace {

using Json = nlohmann::ordered_json;

std::string cell(const MetricValue& value) {
  if (const auto* count = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *count);
  if (const auto* number = std::get_if<double>(&value)) return fmt::format("{}", *number);
  return {};
}

Json inputs_json(const std::vector<InputFile>& inputs) {
  Json list = Json::array();
  for (const InputFile& file : inputs) {
    list.push_back({{"role", file.role}, {"file", file.path.string()}, {"bytes", file.bytes}, {"hash", file.hash}});
  }
  return list;
}

Json points_json(const std::vector<PreparedPoint>& points) {
  Json list = Json::array();
  for (std::size_t i = 0; i < points.size(); ++i) {
    Json axes = Json::object();
    for (const auto& [path, value] : points[i].point->axes) axes[path] = value;
    const std::string folder = point_folder(i, points.size()).string();
    Json entry{{"folder", folder.empty() ? "." : folder}, {"axes", axes}};
    entry["resolved"] = Json::parse(points[i].point->resolved);
    entry["planned"] = Json::parse(planned_json(points[i]));
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace

std::vector<InputFile> inputs_of(const Study& study, const std::vector<PreparedPoint>& points,
                                 const TraceCache& traces) {
  std::vector<InputFile> inputs{fingerprint("experiment", study.file)};
  const auto add = [&](const char* role, const std::filesystem::path& path) {
    for (const InputFile& known : inputs) {
      if (known.path == path) return;
    }
    inputs.push_back(fingerprint(role, path));
  };
  for (const PreparedPoint& point : points) {
    add("model", point.deployment.model_file);
    for (const Deployment* each : {&point.deployment, point.decode ? &*point.decode : nullptr}) {
      if (each == nullptr) continue;
      add("device", each->device_file);
      if (each->profile) add("profile", each->profile_file);
    }
    if (point.fleet) add("topology", point.fleet->file());
  }
  for (InputFile& file : traces.files()) inputs.push_back(std::move(file));
  return inputs;
}

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string manifest_json(const Study& study, const std::vector<PreparedPoint>& points, const RunFacts& facts) {
  Json json;
  json["servecast"] = SERVECAST_VERSION;
  json["command"] = facts.command;
  json["experiment_file"] = study.file.string();
  json["experiment"] = study.text;
  json["set"] = facts.overrides;
  json["axes"] = study.axes;
  json["inputs"] = inputs_json(facts.inputs);
  json["points"] = points_json(points);
  json["wall_s"] = facts.wall_s;
  // Replaces what is not UTF-8: the experiment's text is the user's.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string table_csv(const Study& study, const std::vector<PreparedPoint>& points,
                      const std::vector<PointResult>& results) {
  std::string text;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::vector<Metric> metrics = metrics_of(points[i], results[i]);
    if (i == 0) {
      std::vector<std::string> titles{"point"};
      for (const std::string& axis : study.axes) titles.push_back(csv_cell(axis));
      for (const Metric& metric : metrics) titles.push_back(metric.key);
      text += fmt::format("{}\n", fmt::join(titles, ","));
    }
    std::vector<std::string> cells{std::to_string(i)};
    for (const auto& [path, value] : results[i].axes) cells.push_back(csv_cell(value));
    for (const Metric& metric : metrics) cells.push_back(cell(metric.value));
    text += fmt::format("{}\n", fmt::join(cells, ","));
  }
  return text;
}

}  // namespace servecast
