// What a run says in numbers. Each has its population beside it; docs/metrics.md defines them with an example.
//
//   TTFT  first token − arrival                        completed requests of the window
//   TPOT  (last − first token) / (tokens − 1)          those of them that streamed more than one token
//   ITL   every single gap between two tokens          all gaps that end after the warm-up
//   E2E   last token − arrival                         completed requests of the window
//   attainment  share of the requests *offered* in the window that met every stated SLO: those turned away,
//               aborted or still open did not; a request of one token meets any TPOT
//   goodput     requests of the window that met every SLO, per second of the window
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/request_table.hpp"
#include "sim/simulation.hpp"

namespace servecast {

// Percentiles interpolate linearly between order statistics (as numpy and vLLM's benchmark do); ITL comes from
// a histogram within 0.5 %. A percentile q is thin where n·(1 − q) < 10: fewer than ten samples lie beyond it.
struct Distribution {
  std::int64_t count = 0;
  double mean_s = 0, p50_s = 0, p90_s = 0, p95_s = 0, p99_s = 0, max_s = 0;
  [[nodiscard]] bool thin(double q) const { return static_cast<double>(count) * (1.0 - q) < 10.0; }
};

struct Slo {
  std::optional<double> ttft_s, tpot_s, e2e_s;
  double attainment = 0.9;  // the share that is asked for
  [[nodiscard]] bool any() const { return ttft_s || tpot_s || e2e_s; }
};

struct SummaryOptions {
  Slo slo;
  Duration warm_up{0};    // requests that arrive earlier are left out
  Duration cool_down{0};  // and those that arrive so close to the last arrival
};

struct Summary {
  // The window: arrivals in [from, to].
  SimTime from = kStart, to = kStart;
  std::int64_t outside = 0;  // requests that the window leaves out
  std::int64_t offered = 0, completed = 0, rejected = 0, aborted = 0, open = 0, truncated = 0;
  std::array<std::int64_t, kRefusals> refused{};  // by Refusal

  Distribution ttft, tpot, itl, e2e;
  Distribution normalised;  // E2E / output tokens (vLLM's paper takes its mean, Orca's its median)
  Distribution max_itl;     // per request with more than one streamed token
  Distribution queueing;    // time before the first prefill step: boundary and waits
  Distribution transfer;    // of the KV of those that were prefilled and decoded at different replicas

  double duration_s = 0;      // of the run, first arrival to last end (or the horizon)
  double offered_rate = 0;    // requests per second, realised: (n − 1) / (last − first arrival) over all arrivals
  double completed_rate = 0;  // completed requests of the run per second of duration
  double output_tokens_rate = 0, total_tokens_rate = 0;
  double mean_prompt_tokens = 0, mean_output_tokens = 0;  // realised, completed requests of the window

  std::int64_t met_slo = 0, met_ttft = 0, met_tpot = 0, met_e2e = 0;
  double attainment = 0;  // met_slo / offered
  double goodput = 0;     // met_slo / (to − from), requests per second

  std::array<double, kCauses> cause_mean_s{};  // of E2E, over completed requests of the window

  double mean_running = 0;       // sequences, averaged over the run's time
  double mean_decode_batch = 0;  // decoded tokens per step that decoded or prefilled
  double kv_mean_blocks = 0;     // in use, averaged over time
  double kv_useful_share = 0;    // tokens stored / tokens that the blocks in use could store, over time
  double busy_share = 0;         // of the duration in which a step ran, on average over the replicas
};

// Of the run's duration in which the replica ran a step.
[[nodiscard]] double busy_share(const ReplicaResult& replica, const Summary& summary);
// Of its KV blocks, in use over that time.
[[nodiscard]] double mean_blocks(const ReplicaResult& replica, const Summary& summary);

[[nodiscard]] Summary summarise(const RequestTable& requests, const RunResult& result, const SummaryOptions& options);

// The linear-interpolation percentiles of `values` (reordered). Requires every q in [0, 1]; zero when empty.
[[nodiscard]] Distribution distribution(std::vector<double>& values);

}  // namespace servecast
