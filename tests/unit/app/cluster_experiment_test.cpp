// deployment.replicas and deployment.router, from the file to a run.
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "app/results/point_files.hpp"
#include "app/run/deployment.hpp"
#include "app/run/fleet_plan.hpp"
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

nlohmann::json summary_of(const std::string& keys, const std::vector<std::string>& overrides = {}) {
  GridPoint point;
  point.experiment = experiment(kHead + kDrawn + "deployment: {policy: vllm-v1, " + keys + "}\n", overrides);
  TraceCache traces;
  const PreparedPoint prepared = prepare_point(point, traces);
  RequestTable requests;
  const PointResult result = run_point(prepared, requests);
  return nlohmann::json::parse(summary_json(prepared, result));
}

double number(const nlohmann::json& json, const char* key) { return json.at(key).get<double>(); }

// The same of one of the replicas.
double number(const nlohmann::json& json, std::size_t replica, const char* key) {
  return number(json.at("by_replica").at(replica), key);
}

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

// Ten requests come within a second to a deployment that is fast enough; three stages of 11, 11 and 10 layers.
TEST_CASE("a pipeline serves every request on the devices of all its stages, and says what they did not work") {
  const auto served = [](const std::string& keys) {
    GridPoint point;
    point.experiment = experiment(kHead + kDrawn + "deployment: {policy: orca, " + keys + "}\n");
    TraceCache traces;
    const PreparedPoint prepared = prepare_point(point, traces);
    RequestTable requests;
    const PointResult result = run_point(prepared, requests);
    return nlohmann::json::parse(summary_json(prepared, result));
  };
  const auto json = served("tensor_parallel: 2, pipeline_parallel: 3");
  CHECK(json.at("devices") == 6);
  CHECK(json.at("completed_requests") == 40);
  const double bubble = json.at("pipeline_bubble_share").get<double>();
  CHECK(bubble > 0.1);  // with fewer than three batches of one size there must be some
  CHECK(bubble < 0.7);  // one batch alone would leave two thirds
  CHECK(served("tensor_parallel: 2").at("pipeline_bubble_share").is_null());
}

TEST_CASE("a pipeline in pools: each pool has its own, and each device gets what it holds") {
  GridPoint point;
  point.experiment = experiment(kHead + kDrawn +
                                "deployment: {policy: vllm-v1, pools: {prefill: {pipeline_parallel: 2}, decode: "
                                "{pipeline_parallel: 4}, transfer: {bytes_per_s: 1e10}}}\n");
  TraceCache traces;
  const PreparedPoint prepared = prepare_point(point, traces);
  CHECK(prepared.deployment.parallelism.pipeline == 2);
  REQUIRE(prepared.decode);
  CHECK(prepared.decode->parallelism.pipeline == 4);
  CHECK(device_count(prepared) == 6);
  RequestTable requests;
  const PointResult result = run_point(prepared, requests);
  CHECK(result.summary.completed == 40);
  CHECK(result.run.moved.arrived == result.run.moved.started);
}

TEST_CASE("a pipeline that plans ahead is refused by name") {
  CHECK(error_of(deployed("pipeline_parallel: 2, async_scheduling: true")).find("does not go with pipeline_parallel") !=
        std::string::npos);
  CHECK(error_of(deployed("pipeline_parallel: 0")).find("deployment.pipeline_parallel") != std::string::npos);
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

TEST_CASE("failures, joins and an autoscaler leave at least one replica; joins and an autoscaler go without pools") {
  const auto refused = [](const std::string& keys, const std::string& words) {
    const std::string message =
        error_of(kHead + kWorkload + "deployment: {policy: vllm-v1, replicas: 3, " + keys + "}\n");
    CHECK_MESSAGE(message.find(words) != std::string::npos, message);
  };
  refused("failure: {at_s: 1, replicas: 3}", "leaves no replica; expected fewer than 3");
  refused("failure: {at_s: 1, replicas: 4}", "is 4, but there are only 3; expected at most 3");
  refused("failure: {at_s: 1, replicas: 4, back_after_s: 1}", "is 4, but there are only 3; expected at most 3");
  refused("failure: {at_s: 1, replicas: 3}, join: {at_s: 1}", "is 3, but there are only 2 at first");
  refused("failure: {at_s: 1, replicas: 2}, autoscaler: {target: 1, provisioning_s: 1}", "there are only 1 at first");
  refused("failure: {at_s: 1, back_after_s: 1}, autoscaler: {target: 1, provisioning_s: 1}",
          "deployment.failure.back_after_s: does not go with an autoscaler");
  refused("failure: {}", "at_s");
  refused("failure: {at_s: -1}", "at_s");
  refused("join: {at_s: 1, replicas: 3}", "leaves no replica");
  refused("join: {at_s: 1, replicas: 4}", "is 4, but there are only 3");
  refused("autoscaler: {target: 0, provisioning_s: 1}", "target");
  refused("autoscaler: {target: 1, provisioning_s: 1, least: 4}", "is 4, but there are only 3");
  refused("autoscaler: {target: 1, provisioning_s: 1}, join: {at_s: 1}", "does not go with an autoscaler");
  for (const char* section : {"failure: {at_s: 1}", "join: {at_s: 1}", "autoscaler: {target: 1, provisioning_s: 1}"}) {
    refused(section + std::string(", async_scheduling: true"), "does not go with failures, joins or an autoscaler");
  }
  const std::string pools = "pools: {transfer: {bytes_per_s: 1e9}}";
  for (const char* section : {"join: {at_s: 1}", "autoscaler: {target: 1, provisioning_s: 1}"}) {
    const std::string text = kHead + kWorkload + "deployment: {policy: vllm-v1, " + pools + ", " + section + "}\n";
    CHECK(error_of(text).find("there are no pools") != std::string::npos);
  }
}

TEST_CASE("a failed replica's requests are served by the others, and the files say how many there were") {
  const auto json = summary_of("replicas: 2, failure: {at_s: 1, back_after_s: 0.5, retry_after_s: 0.1}");
  CHECK(json.at("completed_requests") == 40);
  CHECK(number(json, "lost_requests") >= 1);
  CHECK(number(json, 1, "lost_requests") == number(json, "lost_requests"));
  const double length = number(json, 0, "up_s");
  CHECK(length > 2);
  CHECK(number(json, 1, "up_s") == doctest::Approx(length - 0.5));
  CHECK(number(json, "device_up_s") == doctest::Approx(2 * length - 0.5));
}

TEST_CASE("replicas that join take requests after their start, and count as up from their order on") {
  const auto warm = summary_of("replicas: 2, join: {at_s: 0.5}");
  const auto cold = summary_of("replicas: 2, join: {at_s: 0.5, cold_start_s: 0.75}");
  CHECK(warm.at("completed_requests") == 40);
  CHECK(number(warm, 1, "requests") > number(cold, 1, "requests"));
  CHECK(number(cold, 1, "requests") > 0);
  CHECK(number(warm, 1, "up_s") == doctest::Approx(number(warm, 0, "up_s") - 0.5));
  CHECK(number(cold, 1, "up_s") == doctest::Approx(number(cold, 0, "up_s") - 0.5));
}

TEST_CASE("those that fail are there at first, and not those that join") {
  const auto json = summary_of("replicas: 3, join: {at_s: 0.5}, failure: {at_s: 1, back_after_s: 0.25}");
  CHECK(json.at("completed_requests") == 40);
  CHECK(number(json, 1, "lost_requests") >= 1);
  CHECK(number(json, 2, "lost_requests") == 0);
  const double length = number(json, 0, "up_s");
  CHECK(number(json, 1, "up_s") == doctest::Approx(length - 0.25));
  CHECK(number(json, 2, "up_s") == doctest::Approx(length - 0.5));
}

TEST_CASE("an autoscaler looks, orders by the target and waits for what it ordered") {
  const auto scaled = [](const std::string& keys) {
    return summary_of("replicas: 4, autoscaler: {" + keys + ", provisioning_s: 0.25}");
  };
  const auto json = scaled("target: 0.3, every_s: 0.25");
  CHECK(json.at("completed_requests") == 40);
  CHECK(number(json, 3, "requests") > 0);
  CHECK(number(json, 3, "up_s") < number(json, 0, "up_s"));
  CHECK(number(scaled("target: 100, every_s: 0.25"), 1, "requests") == 0);
  CHECK(number(scaled("target: 0.3, every_s: 100"), 1, "requests") == 0);
  CHECK(number(scaled("target: 0.3, every_s: 0.25, tolerance: 1, least: 2"), 1, "requests") > 0);
  CHECK(number(scaled("target: 0.3, every_s: 0.25, least: 2"), 1, "requests") > number(json, 1, "requests"));
  CHECK(number(scaled("measure: waiting, target: 100, every_s: 0.25"), 1, "requests") == 0);
}

TEST_CASE("an autoscaler orders another replica for one that failed, and waits until it has started") {
  const auto json = summary_of(
      "replicas: 3, failure: {at_s: 0.5}, autoscaler: {target: 100, every_s: 0.25, provisioning_s: 0.4, least: 2}");
  CHECK(json.at("completed_requests") == 40);
  CHECK(number(json, 1, "lost_requests") >= 1);
  // The number 1 is free again: ordered in the look of 0.5, at the instant of the failure.
  CHECK(number(json, 1, "up_s") == doctest::Approx(number(json, 0, "up_s")));
  const auto alone = summary_of("replicas: 2, failure: {at_s: 0.5}, autoscaler: {target: 100, provisioning_s: 100}");
  CHECK(alone.at("completed_requests") == 40);  // by the one that was ordered when nobody was left
  CHECK(number(alone, "time_wait_slot_mean_s") > 90);
}

TEST_CASE("what would be beyond the end of time never happens") {
  const FleetPlan plan(deployment("replicas: 2, failure: {at_s: 5e9, back_after_s: 5e9}"));
  REQUIRE(plan.membership()->changes.size() == 2);
  CHECK(plan.membership()->changes.back().at == kNever);
  for (const char* keys : {"failure: {at_s: 5e9, back_after_s: 5e9}", "join: {at_s: 5e9, cold_start_s: 5e9}",
                           "failure: {at_s: 1, retry_after_s: 1, back_after_s: 9e9}",
                           "autoscaler: {target: 0.3, every_s: 0.5, provisioning_s: 9e9}",
                           "autoscaler: {target: 0.3, every_s: 9e9, provisioning_s: 1}"}) {
    CAPTURE(keys);
    CHECK(summary_of(std::string("replicas: 2, ") + keys).at("completed_requests") == 40);
  }
}

TEST_CASE("a transfer moves what each receiving device holds, however many devices had it") {
  const auto per_token = [](const std::string& model, int from, int to) {
    std::string keys = "pools: {prefill: {tensor_parallel: " + std::to_string(from);
    keys.append("}, decode: {tensor_parallel: ").append(std::to_string(to));
    keys.append("}, transfer: {bytes_per_s: 1e9}}");
    const Experiment asked = experiment(deployed(keys), {"model=" + model});
    return plan_deployment(asked, Role::kPrefill).replica.block_bytes.count() / 16;
  };
  const std::int64_t latent = 27 * (512 + 64) * 2;  // layers, latent and rotary key, bytes
  CHECK(per_token("deepseek-v2-lite", 4, 1) == latent);
  CHECK(per_token("deepseek-v2-lite", 1, 4) == 4 * latent);
  const std::int64_t heads = 22 * 2 * 4 * 64 * 2;  // layers, keys and values, heads, their size, bytes
  CHECK(per_token("tinyllama-1.1b", 8, 2) == heads);
  CHECK(per_token("tinyllama-1.1b", 2, 8) == 2 * heads);
  CHECK(per_token("tinyllama-1.1b", 4, 4) == heads);
}

TEST_CASE("what a decode replica pulls, and when, is as its pool says") {
  const auto pooled = [](const std::string& prefill, const std::string& decode, const std::string& more) {
    std::string keys = "pools: {prefill: {kv_blocks: " + prefill;
    keys.append("}, decode: {").append(decode).append("}, transfer: {bytes_per_s: 1e12}}");
    return summary_of(keys + more);
  };
  const std::string one = ", options: {vllm-v1: {max_num_seqs: 1}}";  // prompts wait to join
  const auto few = pooled("1001", "kv_blocks: 1001, waiting_share: 0.001", one);
  const auto many = pooled("1001", "kv_blocks: 1001, waiting_share: 1", one);
  CHECK(number(many, "time_wait_transfer_mean_s") < number(few, "time_wait_transfer_mean_s") / 2);
  CHECK(number(many, "time_wait_decode_mean_s") > 2 * number(few, "time_wait_decode_mean_s"));

  const auto roomy = pooled("1001", "kv_blocks: 501", "");
  CHECK(roomy.at("kv_capacity_blocks") == 1000 + 500);
  const auto narrow = pooled("1001", "kv_blocks: 10", "");  // 9 for a request of 8
  CHECK(number(narrow, "time_wait_transfer_mean_s") > number(roomy, "time_wait_transfer_mean_s") + 0.1);
  const auto held = pooled("10", "kv_blocks: 10", "");  // and nobody is prefilled before the last one is pulled
  CHECK(number(held, "time_wait_memory_mean_s") > number(narrow, "time_wait_memory_mean_s") + 0.1);

  const std::string alone = "kv_blocks: 10001, idle_poll_s: ";
  const auto polled = [&](const std::string& poll) {
    return summary_of("pools: {decode: {" + alone + poll + "}, transfer: {bytes_per_s: 1e12}}",
                      {"workload.arrivals={uniform: {rate: 1}}"});
  };
  CHECK(number(polled("0"), "time_wait_transfer_mean_s") == 0);
  CHECK(number(polled("0.03"), "time_wait_transfer_mean_s") == doctest::Approx(0.03));
}
