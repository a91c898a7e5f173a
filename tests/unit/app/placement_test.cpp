#include "app/run/placement.hpp"

#include <algorithm>
#include <doctest/doctest.h>

#include "sim/error.hpp"
#include "tests/unit/app/experiment_support.hpp"

namespace servecast::test {
namespace {

const std::string kPools =
    "servecast: 1\nmodel: opt-13b\nprofile: opt-13b-a100-80g-distserve-tp{tensor_parallel}\n"
    "workload: {lengths: {prompt: {fixed: 512}, output: {fixed: 11}}, arrivals: {poisson: {rate: 1}}, requests: 50}\n"
    "deployment:\n  policy: distserve\n  compat: simdistserve\n  pools: {prefill: {replicas: 1}}\n"
    "slo: {ttft_s: 0.2, tpot_s: 0.1}\n";

// Without stages.
int count(const std::vector<Placement>& all, int prefill_split, int decode_split) {
  return static_cast<int>(std::count_if(all.begin(), all.end(), [&](const Placement& p) {
    return p.prefill.pipeline_parallel == 1 && p.decode->pipeline_parallel == 1 &&
           p.prefill.tensor_parallel == prefill_split && p.decode->tensor_parallel == decode_split;
  }));
}

int left_out(const PlacementStudy& study) {
  int sum = 0;
  for (const LeftOut& each : study.left_out) sum += each.placements;
  return sum;
}

}  // namespace

// Ways to write 1, 2, 3 and 4 as replicas x tensor ranks x stages: 1, 3, 3 and 6. With pools, g GPUs prefill and up to
// 4 - g decode: 1 x (1 + 3 + 3), 3 x (1 + 3), 3 x 1.
TEST_CASE("every way to use GPUs is a placement, once") {
  CHECK(placements_on(4, false).size() == 13);
  const std::vector<Placement> pools = placements_on(4, true);
  CHECK(count(pools, 1, 1) == 6);  // 1+1 1+2 1+3 2+1 2+2 3+1
  CHECK(count(pools, 2, 1) == 2);  // 1+1 1+2
  CHECK(count(pools, 2, 2) == 1);
  CHECK(count(pools, 3, 1) == 1);
  CHECK(count(pools, 4, 1) == 0);
  CHECK(pools.size() == 7 + 12 + 3);
  for (const Placement& p : pools) CHECK(p.gpus() <= 4);
  CHECK(std::is_sorted(pools.begin(), pools.end(),
                       [](const Placement& a, const Placement& b) { return a.gpus() < b.gpus(); }));
}

TEST_CASE("placements that an experiment can't run are left out, counted, and with the reason") {
  const ExperimentFile file(kPools);
  const PlacementStudy found = study_placements(file.path(), {}, 4);
  CHECK(found.study.points.size() == 20);  // without the two of 3 tensor ranks
  CHECK(left_out(found) == 2);
  REQUIRE(found.left_out.size() == 2);
  CHECK(found.left_out[0].why.starts_with("decode TP3: "));
  CHECK(found.left_out[1].why.starts_with("prefill TP3: "));
  CHECK(found.study.axes == std::vector<std::string>{"prefill", "decode"});
  const GridPoint& last = found.study.points.back();
  CHECK(last.axes[0].second == "1 x TP2");
  CHECK(last.axes[1].second == "1 x TP2");
  CHECK(last.experiment.deployment.pools->decode.tensor_parallel == 2);
  CHECK(last.resolved.find("\"tensor_parallel\": 2") != std::string::npos);
}

TEST_CASE("a model that does not fit few GPUs is placed on more; one that fits none is refused") {
  const std::string large =
      "servecast: 1\nmodel: opt-66b\ndevice: a100-80g-sxm\n"
      "workload: {lengths: {prompt: {fixed: 512}, output: {fixed: 11}}, arrivals: {poisson: {rate: 1}}, requests: 50}\n"
      "deployment: {policy: vllm-v1}\nslo: {ttft_s: 2.5, tpot_s: 0.15}\n";
  const ExperimentFile file(large);
  const PlacementStudy found = study_placements(file.path(), {}, 4);
  for (const GridPoint& point : found.study.points) {
    CHECK(point.experiment.deployment.tensor_parallel * point.experiment.deployment.pipeline_parallel >= 2);
  }
  REQUIRE_FALSE(found.left_out.empty());
  CHECK(found.left_out[0].why.starts_with("TP1: model: "));
  CHECK_THROWS_AS((void)study_placements(file.path(), {}, 1), InputError);
}

TEST_CASE("what a placement decides can't be swept beside it") {
  const ExperimentFile file(kPools + "sweep: {deployment.pools.prefill.tensor_parallel: [1, 2]}\n");
  CHECK_THROWS_AS((void)study_placements(file.path(), {}, 4), InputError);
}

}  // namespace servecast::test
