// deployment.replicas and deployment.router, from the file to a run.
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "app/results/point_files.hpp"
#include "app/run/run_point.hpp"
#include "tests/unit/app/experiment_support.hpp"

using namespace servecast;
using namespace servecast::test;

namespace {

std::string deployed(const std::string& keys) {
  return kHead + kWorkload + "deployment: {policy: sarathi, " + keys + "}\n";
}

DeploymentSection deployment(const std::string& keys) { return experiment(deployed(keys)).deployment; }

const std::string kDrawn =
    "workload: {lengths: {prompt: {fixed: 100}, output: {fixed: 20}}, requests: 40, arrivals: {uniform: {rate: 20}}}\n";

}  // namespace

TEST_CASE("a router is named, or given with its options") {
  CHECK(deployment("tensor_parallel: 1").replicas == 1);
  CHECK(deployment("replicas: 3").router.kind == RouterKind::kRoundRobin);
  CHECK(deployment("replicas: 3, router: least-tokens").router.kind == RouterKind::kLeastTokens);
  const RouterOptions two = deployment("router: {power-of-two: {load: waiting}}").router;
  CHECK(two.kind == RouterKind::kPowerOfTwo);
  CHECK(two.load == Load::kWaiting);
  CHECK(deployment("router: {shared-queue: {slots: 7}}").router.slots == 7);
  CHECK_FALSE(deployment("router: shared-queue").router.slots);
  CHECK(deployment("router: least-requests, snapshot_age_s: 0.5").snapshot_age_s == 0.5);
}

TEST_CASE("a router that is not known, or an option that it does not have, is refused by name") {
  const auto error = [](const std::string& keys) { return error_of(deployed(keys)); };
  CHECK(error("router: least-request").find("did you mean 'least-requests'?") != std::string::npos);
  CHECK(error("router: {random: {load: waiting}}").find("deployment.router.random") != std::string::npos);
  CHECK(error("router: round-robin, snapshot_age_s: 1").find("the router looks at loads") != std::string::npos);
  CHECK(error("replicas: 0").find("deployment.replicas") != std::string::npos);
}

TEST_CASE("replicas that are taken in turn share what comes, and summary.json says who did what") {
  GridPoint point;
  point.experiment = experiment(kHead + kDrawn + "deployment: {policy: vllm-v1, replicas: 4, tensor_parallel: 2}\n");
  TraceCache traces;
  const PreparedPoint prepared = prepare_point(point, traces);
  RequestTable requests;
  const PointResult result = run_point(prepared, requests);
  const auto json = nlohmann::json::parse(summary_json(prepared, result));
  CHECK(json.at("replicas") == 4);
  CHECK(json.at("devices") == 8);
  CHECK(json.at("completed_requests") == 40);
  REQUIRE(json.at("by_replica").size() == 4);
  double busy = 0;
  for (const auto& replica : json.at("by_replica")) {
    CHECK(replica.at("requests") == 10);
    CHECK(replica.at("emitted_tokens") == 200);
    busy += replica.at("busy_share").get<double>() / 4;
  }
  CHECK(json.at("busy_share").get<double>() == doctest::Approx(busy));
}
