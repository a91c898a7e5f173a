// Policies that say where requests go, from the file to a run.
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "app/results/point_files.hpp"
#include "app/run/run_point.hpp"
#include "tests/unit/app/experiment_support.hpp"

using namespace servecast;
using namespace servecast::test;

namespace {

const std::string kTransfer = "transfer: {bytes_per_s: 1e10}";

std::string deployed(const std::string& policy, const std::string& keys) {
  return kHead + kWorkload + "deployment: {policy: " + policy + ", " + keys + "}\n";
}

nlohmann::json summary_of(const std::string& options, const std::string& pools) {
  GridPoint point;
  point.experiment = experiment(
      kHead +
      "workload: {lengths: {prompt: {fixed: 1000}, output: {fixed: 20}}, requests: 40, arrivals: {uniform: {rate: "
      "20}}}\ndeployment: {policy: splitwise, options: {splitwise: {" +
      options + "}}, pools: {" + pools + kTransfer + "}}\n");
  TraceCache traces;
  const PreparedPoint prepared = prepare_point(point, traces);
  RequestTable requests;
  const PointResult result = run_point(prepared, requests);
  return nlohmann::json::parse(summary_json(prepared, result));
}

double number(const nlohmann::json& json, const char* key) { return json.at(key).get<double>(); }

}  // namespace

TEST_CASE("distserve sends prefills and decodes to the replica with the fewest requests, unless told otherwise") {
  const std::string swap = ", swap: {host_bytes: 1, bytes_per_s: 1e9}";
  const auto of = [&](const std::string& policy, const std::string& keys) {
    return experiment(deployed(policy, "pools: {" + kTransfer + (policy == "distserve" ? swap : "") + "}" + keys))
        .deployment;
  };
  CHECK(of("distserve", "").router.kind == RouterKind::kLeastRequests);
  CHECK(of("distserve", "").pools->decode_router.kind == RouterKind::kLeastRequests);
  CHECK(of("distserve", ", router: round-robin").router.kind == RouterKind::kRoundRobin);
  CHECK(of("vllm-v1", "").router.kind == RouterKind::kRoundRobin);
}

TEST_CASE("splitwise needs pools, routes by its own rules, and pulls nothing") {
  const auto refused = [](const std::string& keys, const std::string& words) {
    const std::string message = error_of(deployed("splitwise", keys));
    CHECK_MESSAGE(message.find(words) != std::string::npos, message);
  };
  refused("replicas: 2", "splitwise needs a prefill and a decode pool");
  const std::string pools = "pools: {" + kTransfer + "}";
  refused(pools + ", router: random",
          "deployment.router: has no effect; it applies only where policy is not splitwise");
  for (const char* key : {"router: random", "waiting_share: 0.1", "idle_poll_s: 0.1"}) {
    refused("pools: {decode: {" + std::string(key) + "}, " + kTransfer + "}", "policy is not splitwise");
  }
  refused("pools: {transfer: {bytes_per_s: 1e9, overlapped: true}}", "policy is not splitwise");
  refused(pools + ", async_scheduling: true", "does not go with pools");
  refused("pools: {prefill: {replicas: 2}, " + kTransfer + "}, failure: {at_s: 1, pool: prefill}",
          "does not go with splitwise");
}

TEST_CASE("splitwise moves a request's KV from its prompt machine to its token machine, layer by layer or after it") {
  const std::int64_t bytes = 40LL * 63 * 16 * 131'072;  // prompts of 63 blocks; Llama-3.1-8B: 131,072 bytes a token
  const auto layered = summary_of("", "");
  const auto serial = summary_of("layer_wise: false", "");
  CHECK(layered.at("completed_requests") == 40);
  CHECK(layered.at("kv_transfers") == 40);
  CHECK(layered.at("kv_transferred_bytes") == bytes);
  CHECK(number(serial, "time_transfer_mean_s") == doctest::Approx(static_cast<double>(bytes) / 40 / 1e10));
  // Computed in about the time of the transfer or more, it is but one layer of 32 behind.
  CHECK(number(layered, "time_transfer_mean_s") < number(serial, "time_transfer_mean_s") / 2);
  CHECK(number(layered, "ttft_mean_s") == doctest::Approx(number(serial, "ttft_mean_s")));
  CHECK(layered.at("by_replica")[0].at("role") == "prefill");
  CHECK(layered.at("by_replica")[1].at("role") == "decode");
}

TEST_CASE("splitwise: a queue that may not be long makes the token pool help with prompts") {
  const auto alone = summary_of("", "prefill: {replicas: 1}, decode: {replicas: 2}, ");
  const auto helped =
      summary_of("max_pending_tokens: 1", "prefill: {replicas: 1, device: a40}, decode: {replicas: 2}, ");
  CHECK(alone.at("kv_transfers") == 40);
  CHECK(helped.at("completed_requests") == 40);
  CHECK(helped.at("kv_transfers") < 40);
}
