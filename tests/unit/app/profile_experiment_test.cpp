// Experiments whose step times are a profile's.
#include <doctest/doctest.h>

#include "app/run/sweep.hpp"
#include "sim/error.hpp"
#include "tests/unit/app/experiment_support.hpp"

namespace servecast::test {
namespace {

const std::string kProfiled =
    "servecast: 1\nmodel: opt-13b\nprofile: opt-13b-a100-80g-distserve-tp{tensor_parallel}\n"
    "workload: {lengths: {prompt: {fixed: 512}, output: {fixed: 11}}, arrivals: {uniform: {rate: 0.1}}, requests: 2}\n";
const std::string kOrca = "deployment: {policy: orca}\n";

struct Ran {
  PreparedPoint prepared;
  PointResult result;
  RequestTable requests;
};

void run(const std::string& text, Ran& ran, const std::vector<std::string>& overrides = {}) {
  static std::vector<Study> kept;  // prepared points refer to them
  kept.push_back(study(text, overrides));
  TraceCache traces;
  ran.prepared = prepare_point(kept.back().points.front(), traces);
  ran.result = run_point(ran.prepared, ran.requests);
}

std::string refusal(const std::string& text, const std::vector<std::string>& overrides = {}) {
  try {
    Ran ran;
    run(text, ran, overrides);
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

bool says(const std::string& message, const std::string& part) { return message.find(part) != std::string::npos; }

double ttft_ms(const Ran& ran) { return ran.result.summary.ttft.mean_s * 1e3; }
double tpot_ms(const Ran& ran) { return ran.result.summary.tpot.mean_s * 1e3; }

}  // namespace

// 18.1025 + 0.101912 · 512 + 7.12226e-6 · 512², and 19.9347 + 6.26936e-4 · context + 0.0385070 for contexts of 513 to
// 522.
TEST_CASE("a profile says what steps take, and names the device that plans the memory") {
  Ran ran;
  run(kProfiled + kOrca, ran);
  CHECK(ttft_ms(ran) == doctest::Approx(72.149).epsilon(1e-5));
  CHECK(tpot_ms(ran) == doctest::Approx(19.9347 + 6.26936e-4 * 517.5 + 0.038507).epsilon(1e-5));
  CHECK(ran.prepared.deployment.device.name == "a100-80g-sxm");
  CHECK(says(ran.prepared.deployment.notes.front(), "a profile of DistServe on a100-80g-sxm, TP1"));
}

TEST_CASE("{tensor_parallel} in a profile's name is the split of who uses it, each pool its own") {
  Ran ran;
  run(kProfiled +
          "deployment:\n  policy: distserve\n  pools:\n    prefill: {tensor_parallel: 2}\n"
          "    transfer: {bytes_per_s: 300e9}\n    swap: {host_bytes: 1e9, bytes_per_s: 1e9}\n",
      ran);
  CHECK(ran.prepared.deployment.profile->provenance.tensor_parallel == 2);
  CHECK(ran.prepared.decode->profile->provenance.tensor_parallel == 1);
  CHECK(ttft_ms(ran) == doctest::Approx(14.743 + 0.0685772 * 512 + 2.44957e-6 * 512 * 512).epsilon(1e-5));
}

TEST_CASE("phases scale, decodes have host time, clients are away: TTFT, TPOT and the causes show it") {
  Ran plain, ran;
  run(kProfiled + kOrca, plain);
  run(kProfiled +
          "deployment:\n  policy: orca\n  time_scale: {prefill: 2, decode: 3}\n"
          "  host: {per_step_s: 0.004, per_sequence_s: 0.001, steps: decode}\n"
          "  client: {request_s: 0.002, response_s: 0.004}\n",
      ran);
  CHECK(ttft_ms(ran) == doctest::Approx(2 * ttft_ms(plain) + 6));
  CHECK(tpot_ms(ran) == doctest::Approx(3 * tpot_ms(plain) + 5));
  for (std::uint32_t i = 0; i < ran.requests.size(); ++i) {
    const Request& request = ran.requests[i];
    CHECK(request.arrived_at == plain.requests[i].arrived_at);
    CHECK(request.time_in(Cause::kClient) == std::chrono::milliseconds{6});
    Duration sum{0};
    for (const Duration spent : request.spent) sum += spent;
    CHECK(sum == request.last_token_at - request.arrived_at);
  }
}

// The prefill has a millisecond more, and every step 2 ms and 0.1 us a token: 73.149 + 2.0512. Its 11 tokens take 11
// decode steps, of contexts 513 to 523.
TEST_CASE("compat simdistserve prices and counts steps as that simulator does") {
  const std::string deployment =
      "deployment:\n  policy: distserve\n  compat: simdistserve\n  pools: {prefill: {replicas: 1}}\n";
  Ran ran;
  run(kProfiled + deployment, ran);
  CHECK(ttft_ms(ran) == doctest::Approx(73.149 + 2.0512).epsilon(1e-5));
  const double decode = 19.9347 + 6.26936e-4 * 518 + 0.038507;
  CHECK(tpot_ms(ran) == doctest::Approx(decode + 2 + 1e-4 * 517).epsilon(1e-5));
  CHECK(ran.requests[0].emitted == 12);
  CHECK(ran.result.run.moved.arrived == Bytes{0});
}

TEST_CASE("compat simdistserve refuses what it has not: memory, transfers, host time; and it needs a profile") {
  const std::string deployment =
      "deployment:\n  policy: distserve\n  compat: simdistserve\n  pools: {prefill: {replicas: 1}}\n";
  for (const char* set :
       {"deployment.pools.transfer.bytes_per_s=1e9", "deployment.kv_blocks=100", "deployment.host.per_step_s=0.001",
        "deployment.pools.decode.waiting_share=0.5", "deployment.options.distserve.decode_max_batch=8"}) {
    CHECK_MESSAGE(says(refusal(kProfiled + deployment, {set}), "it applies only where"), set);
  }
  const std::string without =
      "servecast: 1\nmodel: opt-13b\ndevice: a100-80g-sxm\n" + kProfiled.substr(kProfiled.find("workload"));
  CHECK(says(refusal(without + deployment), "deployment.compat: needs a profile"));
  CHECK(says(refusal(kProfiled + "deployment: {policy: orca, compat: simdistserve}\n"), "policy is distserve"));
}

TEST_CASE("a profile of another model, device, split or format is refused by file and field") {
  CHECK(says(refusal(kProfiled + kOrca, {"model=opt-30b"}),
             "tp1.json: provenance.model: is opt-13b, and opt-30b is deployed"));
  CHECK(says(refusal(kProfiled + kOrca, {"device=h100-sxm"}),
             "provenance.device: is a100-80g-sxm, and h100-sxm is deployed"));
  CHECK(says(refusal(kProfiled + "deployment: {policy: orca, weight_dtype: int8}\n"),
             "provenance.dtype: is fp16, and int8 is deployed"));
  CHECK(says(refusal(kProfiled + kOrca, {"profile=opt-13b-a100-80g-distserve-tp2"}),
             "provenance.tensor_parallel: is 2, and a replica is split over 1"));
  CHECK(says(refusal(kProfiled + kOrca, {"profile=opt-13b-a100-80g-distserve-tp3"}),
             "profile: unknown profile 'opt-13b-a100-80g-distserve-tp3'"));
  CHECK(says(refusal(kBase, {"deployment.time_scale.decode=2"}), "a profile is given"));
}

TEST_CASE("an experiment without a device or a profile is refused") {
  CHECK(error_of("servecast: 1\nmodel: opt-13b\n" + kDeployment + kWorkload) ==
        "exp.yaml:1: device: is missing; name a device, or a profile");
}

}  // namespace servecast::test
