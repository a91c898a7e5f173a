#include "tests/validation/live_runs.hpp"

#include <algorithm>
#include <cstdlib>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <sstream>
#include <unistd.h>

#include "app/run/sweep.hpp"

namespace servecast::test {
namespace {

namespace fs = std::filesystem;

constexpr double kTtftSlo_s = 0.2, kTpotSlo_s = 0.1;

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream text(line);
  for (std::string cell; std::getline(text, cell, ',');) cells.push_back(cell);
  return cells;
}

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// One that answered with a single token has no time per token, and meets any.
Latencies latencies_of(std::vector<double> ttft, std::vector<double> tpot, std::size_t met, std::size_t all) {
  const Distribution first = distribution(ttft), each = distribution(tpot);
  return {first.mean_s, first.p50_s, first.p90_s,
          first.p99_s,  each.mean_s, each.p50_s,
          each.p90_s,   each.p99_s,  static_cast<double>(met) / static_cast<double>(all)};
}

// A folder of its own, removed at the end.
class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / ("servecast-validation-" + std::to_string(::getpid()))) {
    fs::create_directories(path_);
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

fs::path write_experiment(const LiveRun& run, const std::string& experiment, const fs::path& folder) {
  std::ofstream trace(folder / "run.csv");
  trace << "arrival_s,prompt_tokens,output_tokens\n";
  for (const LiveRequest& r : run.requests) trace << fmt::format("{:.6f},{},{}\n", r.issue_s, r.prompt, r.output);
  std::ofstream(folder / "run.yaml") << experiment << "workload: {trace: run.csv}\n";
  return folder / "run.yaml";
}

}  // namespace

std::string LiveRun::name() const {
  return fmt::format("{} {}/{}", parallel.empty() ? system : parallel, rate, requests.size());
}

std::vector<LiveRun> live_runs(const std::string& system) {
  const fs::path path = fs::path(SERVECAST_SOURCE_DIR) / "../shared/data/live/distserve_opt13b_a100/requests.csv";
  if (!fs::exists(path)) {
    MESSAGE("skipped: no ", path.string());
    return {};
  }
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  REQUIRE(line.starts_with("system,parallel,rate_req_s,num_requests,issue_s,prompt_len,output_len,ttft_ms,tpot_ms"));
  std::map<std::pair<double, long>, LiveRun> runs;
  while (std::getline(file, line)) {
    const std::vector<std::string> cells = cells_of(line);
    if (cells[0] != system) continue;
    LiveRun& run = runs[{std::stod(cells[2]), std::stol(cells[3])}];
    run.system = cells[0];
    run.parallel = cells[1];
    run.rate = cells[2];
    run.requests.push_back({std::stod(cells[4]), std::stol(cells[5]), std::stol(cells[6]), std::stod(cells[7]) / 1e3,
                            std::stod(cells[8]) / 1e3});
  }
  std::vector<LiveRun> list;
  for (auto& [key, run] : runs) {
    REQUIRE(run.requests.size() == static_cast<std::size_t>(key.second));
    list.push_back(std::move(run));
  }
  return list;
}

Latencies measured(const LiveRun& run) {
  std::vector<double> ttft, tpot;
  std::size_t met = 0;
  for (const LiveRequest& r : run.requests) {
    ttft.push_back(r.ttft_s);
    if (r.output > 1) tpot.push_back(r.tpot_s);
    if (r.ttft_s < kTtftSlo_s && (r.output == 1 || r.tpot_s < kTpotSlo_s)) ++met;
  }
  return latencies_of(std::move(ttft), std::move(tpot), met, run.requests.size());
}

Latencies replayed(const LiveRun& run, const std::string& experiment) {
  const Folder folder;
  const Study study = load_study(write_experiment(run, experiment, folder.path()));
  TraceCache traces;
  const std::vector<PreparedPoint> points = prepare_sweep(study, traces);
  REQUIRE(points.size() == 1);
  RequestTable requests;
  const PointResult result = run_point(points.front(), requests);
  REQUIRE(result.summary.completed == static_cast<std::int64_t>(run.requests.size()));
  std::vector<double> ttft, tpot;
  std::size_t met = 0;
  for (std::uint32_t i = 0; i < requests.size(); ++i) {
    const Request& r = requests[i];
    ttft.push_back(seconds(r.first_token_at - r.arrived_at));
    if (r.output > 1) tpot.push_back(seconds(r.last_token_at - r.first_token_at) / (r.output - 1.0));
    if (ttft.back() < kTtftSlo_s && (r.output == 1 || tpot.back() < kTpotSlo_s)) ++met;
  }
  return latencies_of(std::move(ttft), std::move(tpot), met, requests.size());
}

std::string table_of(const std::vector<Compared>& runs) {
  std::string text =
      "| run (rate/requests) | TTFT mean | p50 | p90 | p99 | TPOT mean | p50 | p90 | p99 | attained, measured | "
      "simulated | "
      "points |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n";
  for (const Compared& run : runs) {
    text += "| " + run.name;
    for (const auto metric :
         {&Latencies::ttft_mean, &Latencies::ttft_p50, &Latencies::ttft_p90, &Latencies::ttft_p99,
          &Latencies::tpot_mean, &Latencies::tpot_p50, &Latencies::tpot_p90, &Latencies::tpot_p99}) {
      text += fmt::format(" | {:+.0f}", run.error(metric));
    }
    text += fmt::format(" | {:.1f} | {:.1f} | {:+.1f} |\n", 100 * run.real.attainment, 100 * run.simulated.attainment,
                        run.attainment_points());
  }
  return text;
}

void hold_in_docs(const std::string& name, const std::string& table) {
  const fs::path path = fs::path(SERVECAST_SOURCE_DIR) / "docs/validation.md";
  std::string document = text_of(path);
  const std::string begin = "<!-- " + name + " -->\n";
  const std::size_t from = document.find(begin);
  REQUIRE_MESSAGE(from != std::string::npos, name);
  const std::size_t start = from + begin.size();
  const std::size_t end = document.find("<!-- end -->", start);
  REQUIRE(end != std::string::npos);
  const bool same = document.substr(start, end - start) == table;
  if (std::getenv("SERVECAST_RENEW_DOCS") != nullptr) {
    std::ofstream(path, std::ios::binary) << document.replace(start, end - start, table);
    return;
  }
  INFO("run this test with SERVECAST_RENEW_DOCS=1 to write it anew:\n" << table);
  CHECK(same);
}

}  // namespace servecast::test
