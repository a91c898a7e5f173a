#include "app/results/point_files.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/results/file_writer.hpp"
#include "app/results/metrics.hpp"

namespace servecast {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const MetricValue& value) {
  if (const auto* count = std::get_if<std::int64_t>(&value)) return *count;
  if (const auto* number = std::get_if<double>(&value)) return *number;
  return nullptr;
}

const char* role_name(Role role) {
  return role == Role::kPrefill ? "prefill" : role == Role::kDecode ? "decode" : "both";
}

Json by_replica(const PreparedPoint& point, const PointResult& result) {
  Json list = Json::array();
  for (std::size_t i = 0; i < result.run.replicas.size(); ++i) {
    const ReplicaResult& replica = result.run.replicas[i];
    const auto peak = static_cast<double>(replica.peak_blocks.count());
    list.push_back({{"role", role_name(deployment_of(point, i).role)},
                    {"requests", replica.requests},
                    {"lost_requests", replica.lost},
                    {"up_s", seconds(replica.up)},
                    {"busy_share", busy_share(replica, result.summary)},
                    {"kv_peak_bytes", kv_bytes_of(deployment_of(point, i), peak)},
                    {"kv_peak_share", peak / static_cast<double>(replica.usable_blocks.count())},
                    {"steps", replica.counters.steps},
                    {"preemptions", replica.preemptions},
                    {"emitted_tokens", replica.tokens_emitted}});
  }
  return list;
}

}  // namespace

std::string summary_json(const PreparedPoint& point, const PointResult& result) {
  Json json;
  json["axes"] = Json::object();
  for (const auto& [path, value] : result.axes) json["axes"][path] = value;
  for (const Metric& metric : metrics_of(point, result)) json[metric.key] = to_json(metric.value);
  json["populations"] = Json::object();
  for (const NamedDistribution& named : distributions())
    json["populations"][std::string(named.name)] = named.population;
  json["thin_percentiles"] = thin_percentiles(result.summary);
  json["by_replica"] = by_replica(point, result);
  json["notes"] = result.notes;
  json["digest"] = fmt::format("{:016x}", result.run.counters.digest);
  return json.dump(2) + "\n";
}

void write_timeline_csv(const std::filesystem::path& path, const PreparedPoint& point, const RunResult& run) {
  FileWriter file(path);
  const bool several = run.replicas.size() > 1;
  file.write(several ? "replica," : "");
  file.write("time_s,running_requests,waiting_requests,kv_blocks,kv_bytes,emitted_tokens,prefill_tokens,preemptions\n");
  for (std::size_t replica = 0; replica < run.replicas.size(); ++replica) {
    for (const TimelineSample& sample : run.replicas[replica].timeline) {
      const std::int64_t ns = (sample.at - kStart).count();
      if (several) file.write(fmt::format("{},", replica));
      file.write(fmt::format("{}.{:09},{},{},{},{:.0f},{},{},{}\n", ns / 1'000'000'000, ns % 1'000'000'000,
                             sample.running, sample.waiting, sample.kv_used.count(),
                             kv_bytes_of(deployment_of(point, replica), static_cast<double>(sample.kv_used.count())),
                             sample.tokens_emitted, sample.prefill_tokens, sample.preemptions));
    }
  }
  file.close();
}

void write_point_files(const std::filesystem::path& folder, const PreparedPoint& point, const PointResult& result,
                       const RequestTable& requests) {
  write_file(folder / "summary.json", summary_json(point, result));
  write_requests_csv(folder / "requests.csv", requests, result.run.replicas.size() > 1);
  write_timeline_csv(folder / "timeline.csv", point, result.run);
}

}  // namespace servecast
