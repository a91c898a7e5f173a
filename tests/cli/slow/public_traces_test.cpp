// Whole public traces under every scheduler, by the program itself: every self-check of every run passes, and
// every request is accounted for.
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"

using namespace servecast::test;
using nlohmann::json;

namespace {

const fs::path kTraces = fs::path(SERVECAST_SOURCE_DIR) / "../shared/data/traces";
constexpr int kPolicies = 6;

std::string study(const fs::path& trace, const std::string& arrivals) {
  return "servecast: 1\nmodel: llama-3.1-8b\ndevice: h200\nworkload:\n  trace: " + trace.string() +
         "\n  arrivals: " + arrivals +
         "\ndeployment:\n  policy: vllm-v1\n  options:\n    static: {batch_size: 4, max_len: 16384}\n"
         "sweep:\n  deployment.policy: [static, orca, vllm-v0, vllm-v1, sarathi, sglang]\n";
}

json summary_of(const Folder& folder, int point) {
  return json::parse(folder.read("out/point-00" + std::to_string(point) + "/summary.json"));
}

void everybody_ends(const Folder& folder, std::int64_t requests) {
  const Ran ran = folder.run("run study.yaml --out out --quiet");
  CAPTURE(ran.err);
  REQUIRE(ran.code == 0);
  for (int point = 0; point < kPolicies; ++point) {
    const json summary = summary_of(folder, point);
    CAPTURE(summary["axes"].dump());
    CHECK(summary["offered_requests"] == requests);
    CHECK(summary["open_requests"] == 0);
    const std::int64_t ended = summary["completed_requests"].get<std::int64_t>() +
                               summary["rejected_requests"].get<std::int64_t>() +
                               summary["aborted_requests"].get<std::int64_t>();
    CHECK(ended == requests);
    if (point > 0)
      CHECK(summary["completed_requests"] == requests);  // static reserves 16,384 tokens and refuses longer ones
  }
}

void as_recorded(const std::string& trace, std::int64_t requests) {
  if (!fs::exists(kTraces / trace)) {
    MESSAGE("skipped: no " << trace << " in ../shared/data/traces");
    return;
  }
  const Folder folder;
  folder.write("study.yaml", study(kTraces / trace, "as-recorded"));
  everybody_ends(folder, requests);
}

}  // namespace

TEST_CASE("the Azure conversation trace runs whole, as recorded, under every policy") {
  as_recorded("azure_llm_2023/AzureLLMInferenceTrace_conv.csv", 19'366);
}

TEST_CASE("the Azure coding trace runs whole, as recorded, under every policy") {
  as_recorded("azure_llm_2023/AzureLLMInferenceTrace_code.csv", 8'819);
}

TEST_CASE("the Mooncake conversation trace runs whole, as recorded, under every policy") {
  as_recorded("mooncake_fast25/conversation_trace.jsonl", 12'031);
}

TEST_CASE("the Vidur lengths run whole, Poisson at half of vLLM V1's capacity, under every policy") {
  const fs::path trace = kTraces / "vidur/arxiv_summarization_stats_llama2_tokenizer_filtered_v2.csv";
  if (!fs::exists(trace)) {
    MESSAGE("skipped: no " << trace.filename().string() << " in ../shared/data/traces");
    return;
  }
  const Folder folder;
  folder.write("study.yaml", study(trace, "all-at-once"));
  everybody_ends(folder, 28'257);
  const double capacity = summary_of(folder, 3)["completed_requests_per_s"];
  REQUIRE(capacity > 0.1);
  folder.write("study.yaml", study(trace, "{poisson: {rate: " + std::to_string(capacity / 2) + "}}"));
  everybody_ends(folder, 28'257);
}
