// The measured runs of data/live/distserve_opt13b_a100, one request a line, and their replay.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace servecast::test {

struct LiveRequest {
  double issue_s = 0;
  long prompt = 0, output = 0;
  double ttft_s = 0, tpot_s = 0;
};

struct LiveRun {
  std::string system, parallel;  // "distserve" "c21d11"; "vllm" ""
  std::string rate;              // requests per second of the whole system, as written
  std::vector<LiveRequest> requests;

  [[nodiscard]] std::string name() const;  // "c21d11 6/600": rate and number of requests
};

// The file's runs of a system, by rate and number of requests; empty where there is no such data beside the tree.
[[nodiscard]] std::vector<LiveRun> live_runs(const std::string& system);

// Of one run, measured or simulated.
struct Latencies {
  double ttft_mean = 0, ttft_p50 = 0, ttft_p90 = 0, ttft_p99 = 0;
  double tpot_mean = 0, tpot_p50 = 0, tpot_p90 = 0, tpot_p99 = 0;
  double attainment = 0;  // TTFT below 200 ms and TPOT below 100 ms, as their authors count it
};

[[nodiscard]] Latencies measured(const LiveRun& run);

// The run's requests, at the instants at which they were issued, through `experiment`: a YAML text without a workload.
[[nodiscard]] Latencies replayed(const LiveRun& run, const std::string& experiment);

struct Compared {
  std::string name;
  Latencies real, simulated;

  [[nodiscard]] double attainment_points() const { return 100 * (simulated.attainment - real.attainment); }
  // simulated / real − 1, in percent
  [[nodiscard]] double error(double Latencies::*metric) const { return 100 * (simulated.*metric / (real.*metric) - 1); }
};

// Markdown: signed errors in percent, attainment in percent and points.
[[nodiscard]] std::string table_of(const std::vector<Compared>& runs);

// Holds the table against the one between `<!-- NAME -->` and `<!-- end -->` in docs/validation.md; with
// SERVECAST_RENEW_DOCS=1 writes it there first.
void hold_in_docs(const std::string& name, const std::string& table);

}  // namespace servecast::test
