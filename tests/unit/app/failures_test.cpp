// deployment.failure: one, several, of pools; from the file to a run.
#include "app/experiment/failures.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "app/results/point_files.hpp"
#include "app/run/run_point.hpp"
#include "tests/unit/app/experiment_support.hpp"

using namespace servecast;
using namespace servecast::test;

namespace {

const std::string kPools = "pools: {prefill: {replicas: 2}, decode: {replicas: 3}, transfer: {bytes_per_s: 1e10}}, ";

std::string deployed(const std::string& keys) {
  return kHead + kWorkload + "deployment: {policy: vllm-v1, " + keys + "}\n";
}

// "1: 2 3 of 4, 3 left; …": what each section takes, in order of time.
std::string planned(const std::string& keys) {
  std::string text;
  for (const PlannedFailure& plan : plan_failures(experiment(deployed(keys)).deployment)) {
    text += (text.empty() ? "" : "; ") + std::to_string(plan.section) + ":";
    for (const int replica : plan.replicas) text += " " + std::to_string(replica);
    text += " of " + std::to_string(plan.there) + ", " + std::to_string(plan.left) + " left";
  }
  return text;
}

nlohmann::json summary_of(const std::string& keys) {
  GridPoint point;
  point.experiment = experiment(kHead +
                                "workload: {lengths: {prompt: {fixed: 100}, output: {fixed: 20}}, requests: 40, "
                                "arrivals: {uniform: {rate: 20}}}\n"
                                "deployment: {policy: vllm-v1, " +
                                keys + "}\n");
  TraceCache traces;
  const PreparedPoint prepared = prepare_point(point, traces);
  RequestTable requests;
  const PointResult result = run_point(prepared, requests);
  return nlohmann::json::parse(summary_json(prepared, result));
}

}  // namespace

TEST_CASE("a failure is one map, or a list of them; each takes those with the highest numbers that are there then") {
  CHECK(planned("replicas: 4, failure: {at_s: 5, replicas: 2}") == "0: 2 3 of 4, 2 left");
  CHECK(planned("replicas: 4, failure: [{at_s: 5}, {at_s: 6, replicas: 2}]") ==
        "0: 3 of 4, 3 left; 1: 1 2 of 3, 1 left");
  CHECK(planned("replicas: 4, failure: [{at_s: 6}, {at_s: 5, back_after_s: 1}]") ==
        "1: 3 of 4, 4 left; 0: 3 of 4, 3 left");  // back just in time to fail again
  CHECK(planned("replicas: 4, failure: [{at_s: 5, back_after_s: 3}, {at_s: 7}, {at_s: 8}]") ==
        "0: 3 of 4, 4 left; 1: 2 of 3, 3 left; 2: 3 of 3, 2 left");
  CHECK(planned("replicas: 4, join: {at_s: 1, replicas: 2}, failure: {at_s: 5}") == "0: 1 of 2, 1 left");
}

TEST_CASE("with pools a failure names the pool") {
  CHECK(planned(kPools + "failure: [{at_s: 5, pool: prefill}, {at_s: 5, pool: decode, replicas: 2}]") ==
        "0: 1 of 2, 1 left; 1: 3 4 of 3, 1 left");
  const auto refused = [](const std::string& keys, const std::string& words) {
    const std::string message = error_of(deployed(keys));
    CHECK_MESSAGE(message.find(words) != std::string::npos, message);
  };
  refused(kPools + "failure: {at_s: 5}", "deployment.failure.pool: is missing; expected one of: prefill, decode");
  refused("replicas: 2, failure: {at_s: 5, pool: decode}", "there are pools");
  refused(kPools + "failure: {at_s: 5, pool: prefill, replicas: 2}", "leaves no replica");
}

TEST_CASE("what is wrong with one failure of a list is refused with its place") {
  const auto refused = [](const std::string& list, const std::string& words) {
    const std::string message =
        error_of(kHead + kWorkload + "deployment:\n  policy: vllm-v1\n  replicas: 3\n  failure:\n" + list);
    CHECK_MESSAGE(message.find(words) != std::string::npos, message);
  };
  refused("    - {at_s: 1}\n    - {replicas: 1}\n", "exp.yaml:10: deployment.failure[1].at_s: is missing");
  refused("    - {at_s: 1}\n    - {at_s: 2, replica: 1}\n",
          "exp.yaml:10: deployment.failure[1].replica: unknown key; did you mean 'replicas'?");
  refused("    - {at_s: 1}\n    - {at_s: 2, replicas: 3}\n",
          "exp.yaml:10: deployment.failure[1].replicas: is 3, but there are only 2 then; expected at most 2");
  refused("    - {at_s: 2}\n    - {at_s: 1, replicas: 2}\n",
          "exp.yaml:9: deployment.failure[0].replicas: leaves no replica");
  refused("    - 3\n", "deployment.failure[0]: expected a map of: at_s");
  refused("    []\n", "deployment.failure: has no items");
  const std::string overridden = error_of(deployed("replicas: 3, failure: [{at_s: 1}]"), {"deployment.failure.at_s=3"});
  CHECK_MESSAGE(overridden.find("is a list") != std::string::npos, overridden);
}

TEST_CASE("a list of failures is in the resolved experiment as it is meant, and can be swept as a whole") {
  const Study swept = study(deployed("replicas: 3") +
                            "sweep: {deployment.failure: [{at_s: 1}, [{at_s: 2, back_after_s: 1}, {at_s: 4}]]}\n");
  REQUIRE(swept.points.size() == 2);
  CHECK(swept.points[0].experiment.deployment.failures.size() == 1);
  CHECK(swept.points[1].experiment.deployment.failures.size() == 2);
  const auto resolved = nlohmann::json::parse(swept.points[1].resolved).at("deployment").at("failure");
  REQUIRE(resolved.size() == 2);
  CHECK(resolved[0].at("back_after_s") == 1.0);
  CHECK(resolved[1].at("replicas") == 1);
  CHECK(resolved[1].at("keep_tokens") == false);
}

TEST_CASE("failures of both pools lose nothing, and the files say whose replicas lost what") {
  const auto json = summary_of(
      kPools +
      "failure: [{at_s: 0.52, pool: prefill, back_after_s: 0.2}, {at_s: 1.02, pool: decode, replicas: 2, keep_tokens: "
      "true, retry_after_s: 0.1}]");
  CHECK(json.at("completed_requests") == 40);
  const auto lost = [&](std::size_t replica) {
    return json.at("by_replica").at(replica).at("lost_requests").get<int>();
  };
  CHECK(lost(0) == 0);
  CHECK(lost(2) == 0);
  CHECK(lost(1) + lost(3) + lost(4) == json.at("lost_requests"));
  CHECK(lost(3) + lost(4) > 0);
  CHECK(json.at("time_preempted_mean_s").get<double>() > 0);  // 0.1 s for each that was decoding
}
