// `servecast run`: its files, its table, its exit codes.
#include <algorithm>
#include <doctest/doctest.h>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"

namespace servecast::test {
namespace {

using Json = nlohmann::json;

const char* const kSweep =
    "sweep:\n"
    "  deployment.policy: [static, orca, vllm-v0, vllm-v1, sarathi, sglang]\n"
    "  workload.arrivals.poisson.rate: [5, 50]\n";

// Every file below `folder` by its relative name, but the manifest.
std::map<std::string, std::string> files_below(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file() || entry.path().filename() == "manifest.json") continue;
    files[fs::relative(entry.path(), folder).string()] = contents(entry.path());
  }
  return files;
}

}  // namespace

TEST_CASE("a run prints its memory plan first, then one table, and writes every file") {
  const Folder folder;
  folder.write("one.yaml", experiment());
  const Ran ran = folder.run("run one.yaml");
  REQUIRE_MESSAGE(ran.code == 0, ran.err);
  CHECK(ran.out.starts_with("llama-3.1-8b on h100-sxm, vllm-v1: KV cache "));
  CHECK(ran.out.find("TTFT p99") != std::string::npos);
  CHECK(ran.out.find("40/40") != std::string::npos);
  CHECK(ran.out.find("max_tokens pinned") != std::string::npos);
  CHECK(ran.out.find("asked") == std::string::npos);
  CHECK(ran.out.find("load: poisson, 20 requests/s") != std::string::npos);
  CHECK_MESSAGE(ran.err.empty(), ran.err);
  for (const char* name : {"manifest.json", "table.csv", "summary.json", "requests.csv", "timeline.csv"}) {
    CHECK_MESSAGE(folder.has(std::string("results/one/") + name), name);
  }
  CHECK_FALSE(folder.has("results/one.partial"));
  const std::string requests = folder.read("results/one/requests.csv");
  CHECK(std::count(requests.begin(), requests.end(), '\n') == 41);
  const Json summary = Json::parse(folder.read("results/one/summary.json"));
  CHECK(summary["completed_requests"] == 40);
  CHECK(summary["thin_percentiles"].size() > 0);
  CHECK(summary["slo_attainment_share"].is_null());
  CHECK(summary["kv_peak_bytes"] == summary["kv_peak_blocks"].get<double>() * 16 * 131'072);
}

TEST_CASE("a sweep gives the same bytes on one thread and on two, point by point in grid order") {
  const Folder folder;
  folder.write("grid.yaml", experiment() + kSweep);
  const Ran one = folder.run("run grid.yaml --threads 1 --out one");
  const Ran two = folder.run("run grid.yaml --threads 2 --out two --quiet");
  REQUIRE_MESSAGE(one.code == 0, one.err);
  REQUIRE_MESSAGE(two.code == 0, two.err);
  const auto files = files_below(folder.path() / "one");
  CHECK(files.size() == 12 * 3 + 1);
  CHECK(files == files_below(folder.path() / "two"));
  CHECK(files.at("table.csv").find("\n0,static,5,") != std::string::npos);
  CHECK(files.at("table.csv").find("\n11,sglang,50,") != std::string::npos);
  const auto results_line = [](const std::string& out) { return out.substr(0, out.find("- results:")); };
  CHECK(results_line(one.out) == results_line(two.out));
}

TEST_CASE("a table names the files of an axis without their folders, unless two have one name") {
  const Folder folder;
  fs::create_directories(folder.path() / "data/more");
  for (const char* name : {"data/a.csv", "data/b.csv", "data/more/a.csv"}) {
    folder.write(name, "prompt_tokens,output_tokens\n10,2\n");
  }
  folder.write("grid.yaml", experiment("  trace: data/a.csv\n  arrivals: all-at-once\n"));
  const auto table = [&](const char* paths) {
    const Ran ran =
        folder.run(std::string("run grid.yaml --no-files --quiet --set 'sweep={workload.trace: ") + paths + "}'");
    REQUIRE_MESSAGE(ran.code == 0, ran.err);
    return ran.out.substr(ran.out.find("\ntrace "));
  };
  const std::string distinct = table("[data/a.csv, data/b.csv]");
  CHECK_MESSAGE(distinct.find("\nb.csv ") != std::string::npos, distinct);
  const std::string same = table("[data/a.csv, data/more/a.csv]");
  CHECK_MESSAGE(same.find("\ndata/more/a.csv ") != std::string::npos, same);
}

TEST_CASE("the manifest says how to make the results again") {
  const Folder folder;
  folder.write("one.yaml", experiment());
  REQUIRE(folder.run("run one.yaml --set workload.requests=7 --out first").code == 0);
  const Json manifest = Json::parse(folder.read("first/manifest.json"));
  CHECK(manifest["set"] == Json{"workload.requests=7"});
  CHECK(manifest["experiment"] == experiment());
  REQUIRE(manifest["inputs"].size() == 3);
  CHECK(manifest["inputs"][0]["role"] == "experiment");
  CHECK(manifest["inputs"][0]["bytes"] == experiment().size());
  CHECK(manifest["points"][0]["folder"] == ".");
  folder.write("again.yaml", manifest["points"][0]["resolved"].dump());
  const Ran again = folder.run("run again.yaml --out second");
  REQUIRE_MESSAGE(again.code == 0, again.err);
  CHECK(files_below(folder.path() / "first") == files_below(folder.path() / "second"));
}

TEST_CASE("--json prints the summaries and nothing else, --no-files writes nothing") {
  const Folder folder;
  folder.write("one.yaml", experiment());
  const Ran ran = folder.run("run one.yaml --json --no-files");
  REQUIRE_MESSAGE(ran.code == 0, ran.err);
  const Json json = Json::parse(ran.out);
  CHECK(json["points"].size() == 1);
  CHECK(json["points"][0]["offered_requests"] == 40);
  CHECK_FALSE(folder.has("results"));
}

TEST_CASE("a missed SLO is a failure only where it is required") {
  const Folder folder;
  folder.write("one.yaml", experiment() + "slo: {ttft_s: 0.000001}\n");
  CHECK(folder.run("run one.yaml").code == 0);
  const Ran missed = folder.run("run one.yaml --require-slo");
  CHECK(missed.code == 1);
  CHECK(missed.err.find("the SLO is not met: 0.0 % of 90.0 %") != std::string::npos);
  CHECK(folder.run("run one.yaml --require-slo --set slo.ttft_s=100").code == 0);
  folder.write("none.yaml", experiment());
  CHECK(folder.run("run none.yaml --require-slo").code == 2);
}

TEST_CASE("a request larger than the cache is counted as rejected, and the run is done") {
  const Folder folder;
  folder.write("trace.csv", "arrival_s,prompt_tokens,output_tokens\n0,100,5\n1,20000,5\n2,100,5\n");
  folder.write("one.yaml", experiment("  trace: trace.csv\n", "  kv_blocks: 1000\n"));
  const Ran ran = folder.run("run one.yaml");
  REQUIRE_MESSAGE(ran.code == 0, ran.err);
  CHECK(ran.out.find("2/3") != std::string::npos);
  CHECK(ran.out.find("1 request turned away: larger than the KV cache") != std::string::npos);
  const Json summary = Json::parse(folder.read("results/one/summary.json"));
  CHECK(summary["rejected_requests"] == 1);
  CHECK(summary["refused_cache_requests"] == 1);
  CHECK(folder.read("results/one/requests.csv").find(",rejected,cache,") != std::string::npos);
}

TEST_CASE("dropped rows and estimated tokens stand with the results") {
  const Folder folder;
  folder.write("trace.csv", "arrival_s,prompt_tokens,output_tokens\n0,100,5\n1,100,0\n2,100,5\n");
  folder.write("one.yaml", experiment("  trace: trace.csv\n"));
  const Ran ran = folder.run("run one.yaml");
  REQUIRE_MESSAGE(ran.code == 0, ran.err);
  CHECK(ran.out.find("1 of 3 rows dropped") != std::string::npos);
  CHECK(Json::parse(folder.read("results/one/manifest.json"))["points"][0]["planned"]["trace"]["rows_kept"] == 2);
}

}  // namespace servecast::test
