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

TEST_CASE("pools have replicas, devices and parallelism of their own, and the rest from the deployment") {
  const std::string transfer = "transfer: {bytes_per_s: 1e9}";
  const DeploymentSection d = deployment(
      "tensor_parallel: 2, pools: {prefill: {replicas: 3, device: a100-80g-sxm}, decode: {tensor_parallel: 1, router: "
      "random}, transfer: {bytes_per_s: 5e10, latency_s: 0.001, overlapped: true}}");
  REQUIRE(d.pools);
  CHECK(d.pools->prefill.replicas == 3);
  CHECK(d.pools->prefill.device == "a100-80g-sxm");
  CHECK_FALSE(d.pools->prefill.tensor_parallel);
  CHECK(d.pools->decode.tensor_parallel == 1);
  CHECK(d.pools->decode_router.kind == RouterKind::kRandom);
  CHECK(d.pools->pull.overlapped);
  CHECK(d.pools->bytes_per_s == 5e10);
  CHECK_FALSE(deployment("replicas: 2").pools);
  CHECK(deployment("pools: {" + transfer + "}").pools->decode_router.kind == RouterKind::kLeastRequests);
}

TEST_CASE("pools that can't be are refused by name") {
  const auto refused = [](const std::string& policy, const std::string& keys, const std::string& words) {
    const std::string message = error_of(kHead + kWorkload + "deployment: {policy: " + policy + ", " + keys + "}\n");
    CHECK_MESSAGE(message.find(words) != std::string::npos, message);
  };
  const std::string pools = "pools: {transfer: {bytes_per_s: 1e9}}";
  refused("distserve", "replicas: 2", "distserve needs a prefill and a decode pool");
  refused("distserve", pools, "deployment.pools.swap.host_bytes: is missing");
  refused("orca", pools, "does not go with orca");
  refused("vllm-v1", pools + ", async_scheduling: true", "does not go with pools");
  refused("vllm-v1", pools + ", replicas: 2", "there are no pools");
  refused("vllm-v1", "pools: {prefill: {replicas: 2}}", "transfer");
  refused("vllm-v1", "pools: {transfer: {bytes_per_s: 0}}", "bytes_per_s");
  refused("vllm-v1", "pools: {transfer: {bytes_per_s: 1e9}, swap: {host_bytes: 1, bytes_per_s: 1e9}}",
          "policy is distserve");
}

TEST_CASE("a request goes through both pools, and the files say what moved") {
  GridPoint point;
  point.experiment =
      experiment(kHead + kDrawn +
                 "deployment: {policy: distserve, pools: {prefill: {tensor_parallel: 2}, decode: {replicas: 2, device: "
                 "a100-80g-sxm}, transfer: {bytes_per_s: 1e10}, swap: {host_bytes: 1e9, bytes_per_s: 1e10}}}\n");
  TraceCache traces;
  const PreparedPoint prepared = prepare_point(point, traces);
  RequestTable requests;
  const PointResult result = run_point(prepared, requests);
  const auto json = nlohmann::json::parse(summary_json(prepared, result));
  CHECK(json.at("replicas") == 3);
  CHECK(json.at("devices") == 4);
  CHECK(json.at("completed_requests") == 40);
  CHECK(json.at("kv_transfers") == 40);
  const std::int64_t block = 16 * 131'072;                   // bytes of Llama-3.1-8B's KV for 16 tokens
  CHECK(json.at("kv_transferred_bytes") == 40 * 7 * block);  // prompts of 100 tokens
  CHECK(json.at("time_transfer_mean_s").get<double>() == doctest::Approx(7 * block / 1e10));
  CHECK(json.at("by_replica")[0].at("role") == "prefill");
  CHECK(json.at("by_replica")[2].at("role") == "decode");
  const std::int64_t decoded = json.at("by_replica")[1].at("requests");
  CHECK((decoded > 0 && decoded < 40));
  CHECK(json.at("by_replica")[2].at("requests") == 40 - decoded);
}

TEST_CASE("failures, joins and an autoscaler leave at least one replica, and go without pools") {
  const auto refused = [](const std::string& keys, const std::string& words) {
    const std::string message =
        error_of(kHead + kWorkload + "deployment: {policy: vllm-v1, replicas: 3, " + keys + "}\n");
    CHECK_MESSAGE(message.find(words) != std::string::npos, message);
  };
  refused("failure: {at_s: 1, replicas: 3}", "leaves no replica");
  refused("failure: {at_s: 1, replicas: 4, back_after_s: 1}", "leaves no replica");
  refused("failure: {}", "at_s");
  refused("failure: {at_s: -1}", "at_s");
  refused("join: {at_s: 1, replicas: 3}", "leaves no replica");
  refused("autoscaler: {target: 0, provisioning_s: 1}", "target");
  refused("autoscaler: {target: 1, provisioning_s: 1, least: 4}", "leaves no replica");
  refused("autoscaler: {target: 1, provisioning_s: 1}, join: {at_s: 1}", "does not go with an autoscaler");
  refused("failure: {at_s: 1}, async_scheduling: true", "does not go with failures");
  const std::string pools = "pools: {transfer: {bytes_per_s: 1e9}}";
  const std::string text = kHead + kWorkload + "deployment: {policy: vllm-v1, " + pools + ", failure: {at_s: 1}}\n";
  CHECK(error_of(text).find("there are no pools") != std::string::npos);
}

TEST_CASE("a failed replica's requests are served by the others, and the files say how many there were") {
  GridPoint point;
  point.experiment = experiment(kHead + kDrawn +
                                "deployment: {policy: vllm-v1, replicas: 2, failure: {at_s: 1, back_after_s: 0.5, "
                                "retry_after_s: 0.1}}\n");
  TraceCache traces;
  const PreparedPoint prepared = prepare_point(point, traces);
  RequestTable requests;
  const PointResult result = run_point(prepared, requests);
  const auto json = nlohmann::json::parse(summary_json(prepared, result));
  CHECK(json.at("completed_requests") == 40);
  const std::int64_t lost = json.at("lost_requests");
  CHECK(lost >= 1);
  CHECK(json.at("by_replica")[1].at("lost_requests") == lost);
  const double length = seconds(result.run.ended_at);
  CHECK(json.at("by_replica")[0].at("up_s").get<double>() == doctest::Approx(length));
  CHECK(json.at("by_replica")[1].at("up_s").get<double>() == doctest::Approx(length - 0.5));
  CHECK(json.at("device_up_s").get<double>() == doctest::Approx(2 * length - 0.5));
}
