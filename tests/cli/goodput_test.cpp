// `servecast goodput`, and `goodput` as a rate in `servecast run`.
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"

namespace servecast::test {
namespace {

const char* const kSlo = "slo: {ttft_s: 0.2, tpot_s: 0.03}\nsweep: {deployment.policy: [orca, sarathi]}\n";

}  // namespace

TEST_CASE("goodput prints one row a point and writes every run of its searches") {
  const Folder folder;
  folder.write("g.yaml", experiment() + kSlo);
  const Ran ran = folder.run("goodput g.yaml --seeds 2 --set workload.requests=300 --out found");
  REQUIRE_MESSAGE(ran.code == 0, ran.err);
  CHECK(ran.out.find("per GPU") != std::string::npos);
  const auto json = nlohmann::json::parse(folder.read("found/goodput.json"));
  REQUIRE(json["points"].size() == 2);
  for (const auto& point : json["points"]) {
    const double rate = point["goodput_requests_per_s"];
    CHECK(rate > 0);
    CHECK(point["goodput_least_requests_per_s"] <= rate);
    CHECK(point["seeds"].size() == 2);
  }
  CHECK(folder.has("found/manifest.json"));
}

TEST_CASE("the searches do not depend on the number of threads") {
  const Folder folder;
  folder.write("g.yaml", experiment() + kSlo);
  const std::string command = "goodput g.yaml --set workload.requests=200 --json --no-files --threads ";
  CHECK(folder.run(command + "1").out == folder.run(command + "2").out);
}

TEST_CASE("a rate of `goodput` is searched before the point runs") {
  const Folder folder;
  folder.write("g.yaml", experiment() + kSlo);
  const std::string set = " --set workload.requests=300 --set workload.arrivals.poisson.rate=goodput --no-files --json";
  const Ran ran = folder.run("run g.yaml" + set);
  REQUIRE_MESSAGE(ran.code == 0, ran.err);
  const auto json = nlohmann::json::parse(ran.out);
  for (const auto& point : json["points"]) CHECK(point["slo_attainment_share"] >= 0.9);
}

TEST_CASE("--placement ranks every placement that fits by goodput per GPU, and counts those that do not") {
  const Folder folder;
  folder.write("g.yaml",
               "servecast: 1\nmodel: opt-13b\nprofile: opt-13b-a100-80g-distserve-tp{tensor_parallel}\n"
               "workload: {lengths: {prompt: {fixed: 300}, output: {fixed: 40}}, arrivals: {poisson: {rate: 4}}, "
               "requests: 200}\n"
               "deployment:\n  policy: distserve\n  compat: simdistserve\n  pools: {prefill: {replicas: 1}}\n"
               "slo: {ttft_s: 0.2, tpot_s: 0.1}\n");
  const Ran ran = folder.run("goodput g.yaml --placement 4 --seeds 1 --out found");
  REQUIRE_MESSAGE(ran.code == 0, ran.err);
  CHECK(ran.out.find("- 20 points: every placement on at most 4 GPUs that fits") != std::string::npos);
  CHECK(ran.out.find("- 1 placement left out: prefill TP3: ") != std::string::npos);
  const auto json = nlohmann::json::parse(folder.read("found/goodput.json"));
  REQUIRE(json["points"].size() == 20);
  double before = 1e9;
  for (const auto& point : json["points"]) {
    const double rate = point["goodput_requests_per_s_per_gpu"];
    CHECK(rate <= before);
    CHECK(point["gpus"] <= 4);
    before = rate;
  }
  CHECK(json["points"][0]["axes"].contains("prefill"));
  CHECK(folder.read("found/placements.csv").starts_with("rank,prefill,decode,gpus,goodput_requests_per_s_per_gpu"));
}

TEST_CASE("goodput without an SLO, or without a rate, is refused by name") {
  const Folder folder;
  folder.write("g.yaml", experiment());
  const Ran without = folder.run("goodput g.yaml");
  CHECK(without.code == 2);
  CHECK(without.err.find("slo: is missing") != std::string::npos);
  const Ran at_once = folder.run("goodput g.yaml --set slo.ttft_s=1 --set workload.arrivals=all-at-once");
  CHECK(at_once.code == 2);
  CHECK(at_once.err.find("all at once has no rate") != std::string::npos);
  CHECK_FALSE(folder.has("results"));
}

}  // namespace servecast::test
