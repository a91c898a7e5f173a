#include <algorithm>

#include "tests/studies/study.hpp"

namespace servecast::test {
namespace {

// The rates that were found, by trace, prompt machines and token machines.
double rate(const std::vector<RanPoint>& points, const Axes& axes) {
  return value_at(points, axes, "offered_requests_per_s");
}

const char* const kData = "../../../shared/data/traces/azure_llm_2023/AzureLLMInferenceTrace_";
const char* const kA100 = "a100-80g-sxm";
const char* const kH100 = "h100-sxm";

}  // namespace

TEST_CASE("splitwise: its predictions hold, and what its README concludes") {
  const std::filesystem::path data =
      std::filesystem::path(SERVECAST_SOURCE_DIR) / "../shared/data/traces/azure_llm_2023";
  if (!std::filesystem::is_directory(data)) {
    MESSAGE("skipped: no ../shared/data/traces/azure_llm_2023 beside this tree");
    return;
  }
  const std::vector<RanPoint> split = run_study("splitwise");
  const std::vector<RanPoint> mixed = run_study("splitwise", "baseline.yaml");
  hold(split, expected_of("splitwise"));
  hold(mixed, expected_of("splitwise", "baseline-expected.json"));
  for (const char* name : {"code.csv", "conv.csv"}) {
    const std::string trace = std::string(kData) + name;
    CHECK_MESSAGE(
        rate(mixed, {{"trace", trace}, {"device", kH100}}) > rate(mixed, {{"trace", trace}, {"device", kA100}}), name);
    for (const RanPoint& point : split) CHECK(point.summary.at("slo_attainment_share").get<double>() >= 0.9);
  }
}

}  // namespace servecast::test
