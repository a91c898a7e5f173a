// What a trace is like: its rate, its burstiness, its lengths, and how much of its prompts repeats.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/time.hpp"
#include "traces/trace.hpp"

namespace servecast {

// Percentiles interpolate linearly between the sorted values, as numpy's default does.
struct LengthStats {
  std::int64_t total = 0;
  double mean = 0;
  double p50 = 0;
  double p90 = 0;
  double p99 = 0;
  std::int64_t max = 0;
};

struct ArrivalStats {
  Duration first{0};      // as recorded
  Duration span{0};       // from the first arrival to the last
  double rate_per_s = 0;  // (requests − 1)/span; 0 where all came at once
  double gap_cv = 0;      // standard deviation of the gaps over their mean; 0 where all came at once
};

struct PrefixStats {
  Tokens block_size;
  std::int64_t blocks = 0;
  std::int64_t blocks_seen_before = 0;  // in an earlier row or earlier in the same one
  [[nodiscard]] double share() const;   // seen before / all; what a cache without limit would hit
};

struct TraceStats {
  std::int64_t requests = 0;
  std::optional<ArrivalStats> arrivals;
  LengthStats prompt;
  LengthStats output;
  std::int64_t sessions = 0;  // 0: the trace has none
  std::optional<PrefixStats> prefix;
};

// Requires a row.
[[nodiscard]] TraceStats stats_of(const Trace& trace);

// Requires a value; `q` from 0 to 1. Reorders the values.
[[nodiscard]] double percentile(std::vector<std::int64_t>& values, double q);

}  // namespace servecast
