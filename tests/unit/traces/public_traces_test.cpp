// Published traces, held against statistics that were computed elsewhere: the CSVs' own row counts, and the
// means and percentiles of the Splitwise and Vidur papers' traces recomputed with numpy.
#include <doctest/doctest.h>

#include "tests/unit/traces/support.hpp"
#include "traces/stats.hpp"

using namespace servecast;

namespace {

struct Expected {
  std::string format;
  std::int64_t rows;
  double prompt_mean, prompt_p50, prompt_p90, prompt_p99;
  double output_mean, output_p50, output_p90, output_p99;
};

void check_stats(const LengthStats& seen, double mean, double p50, double p90, double p99) {
  CHECK(seen.mean == doctest::Approx(mean).epsilon(0.05 / mean));
  CHECK(seen.p50 == doctest::Approx(p50));
  CHECK(seen.p90 == doctest::Approx(p90));
  if (p99 > 0) CHECK(seen.p99 == doctest::Approx(p99).epsilon(0.05 / p99));
}

std::optional<ReadResult> read_public(const std::string& name) {
  const std::string path = public_trace(name);
  if (path.empty()) {
    MESSAGE("skipped: the public data sets are not beside the source tree");
    return std::nullopt;
  }
  return read_trace(path);
}

void check_trace(const std::string& name, const Expected& expected) {
  const std::optional<ReadResult> read = read_public(name);
  if (!read) return;
  CHECK(read->report.format == expected.format);
  CHECK(read->report.rows_read == expected.rows);
  CHECK(read->report.rows_kept == expected.rows);
  const TraceStats stats = stats_of(read->trace);
  check_stats(stats.prompt, expected.prompt_mean, expected.prompt_p50, expected.prompt_p90, expected.prompt_p99);
  check_stats(stats.output, expected.output_mean, expected.output_p50, expected.output_p90, expected.output_p99);
}

void check_rows(const std::string& name, const std::string& format, std::int64_t rows) {
  CAPTURE(name);
  const std::optional<ReadResult> read = read_public(name);
  if (!read) return;
  CHECK(read->report.format == format);
  CHECK(read->report.rows_kept == rows);
}

}  // namespace

TEST_CASE("the Azure 2023 traces have their published lengths and rates") {
  check_trace("traces/azure_llm_2023/AzureLLMInferenceTrace_code.csv",
              {"azure", 8819, 2047.8, 1469, 5187.6, 7436, 27.9, 13, 55, 251.5});
  check_trace("traces/azure_llm_2023/AzureLLMInferenceTrace_conv.csv",
              {"azure", 19366, 1154.7, 1020, 2734.5, 4142, 211.1, 129, 424, 601});
  if (const auto conv = read_public("traces/azure_llm_2023/AzureLLMInferenceTrace_conv.csv")) {
    CHECK(stats_of(conv->trace).arrivals->rate_per_s == doctest::Approx(5.53).epsilon(0.001));
  }
}

TEST_CASE("the arXiv lengths of Vidur have their published statistics") {
  check_trace("traces/vidur/arxiv_summarization_stats_llama2_tokenizer_filtered_v2.csv",
              {"vidur", 28257, 2588.1, 2730, 3702, 0, 291.4, 167, 372, 0});
}

TEST_CASE("a third of the Mooncake conversation trace's blocks were seen before") {
  const auto read = read_public("traces/mooncake_fast25/conversation_trace.jsonl");
  if (!read) return;
  CHECK(read->report.format == "mooncake");
  const TraceStats stats = stats_of(read->trace);
  CHECK(stats.requests == 12031);
  CHECK(stats.arrivals->span == Duration{3'536'999'000'000});
  CHECK(stats.prefix->blocks == 288'500);
  CHECK(stats.prefix->blocks_seen_before == 105'710);
}

TEST_CASE("every public trace is found to be what it is, and read whole") {
  check_rows("traces/mooncake_fast25/synthetic_trace.jsonl", "mooncake", 3993);
  check_rows("traces/sarathi_serve/sharegpt_8k_filtered_stats_llama2_tokenizer.csv", "vidur", 30731);
  check_rows("traces/apex_plus/llama_summarization_05.csv", "apex-plus", 1302);
  check_rows("traces/apex_plus/mistral_creation_025.csv", "apex-plus", 725);
  check_rows("traces/llmservingsim/sharegpt-llama-3.1-8b-300-sps10.csv", "llmservingsim", 300);
  check_rows("traces/llmservingsim/ispass26_sharegpt_pulse_req50_n6_delay15_pc.csv", "llmservingsim", 300);
  check_rows("traces/llmservingsim/workload_me2_01_mixed.csv", "llmservingsim", 608);
  check_rows("traces/sharegpt_format/sharegpt.json", "sharegpt", 2);
  check_rows("live/format_samples/vllm_bench_serve_save_detailed_first20.json", "vllm-bench", 20);
}

TEST_CASE("a data set that is not a trace is not taken for one") {
  const std::string path = public_trace("traces/servegen/deepseek-r1-all-clients-trace.csv");
  if (path.empty()) return;
  CHECK(message_of([&] { (void)read_trace(path); }).starts_with(path + ": is in no known trace format"));
}
