#include "traces/stats.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>
#include <unordered_set>

namespace servecast {
namespace {

LengthStats length_stats(std::vector<std::int64_t> values) {
  LengthStats stats;
  stats.total = std::accumulate(values.begin(), values.end(), std::int64_t{0});
  stats.mean = static_cast<double>(stats.total) / static_cast<double>(values.size());
  stats.p50 = percentile(values, 0.5);
  stats.p90 = percentile(values, 0.9);
  stats.p99 = percentile(values, 0.99);
  stats.max = *std::max_element(values.begin(), values.end());
  return stats;
}

ArrivalStats arrival_stats(const Trace& trace) {
  ArrivalStats stats;
  const auto at = [&trace](std::size_t row) { return *trace.row(row).arrival; };
  stats.first = at(0) - kStart;
  stats.span = at(trace.size() - 1) - at(0);
  if (stats.span == Duration{0}) return stats;
  const auto gaps = static_cast<double>(trace.size() - 1);
  const double mean = seconds(stats.span) / gaps;
  double squares = 0;
  for (std::size_t i = 1; i < trace.size(); ++i) {
    const double off = seconds(at(i) - at(i - 1)) - mean;
    squares += off * off;
  }
  stats.rate_per_s = 1 / mean;
  stats.gap_cv = std::sqrt(squares / gaps) / mean;
  return stats;
}

PrefixStats prefix_stats(const Trace& trace) {
  PrefixStats stats;
  stats.block_size = trace.block_size();
  std::unordered_set<std::uint64_t> seen;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    for (const BlockRun& run : trace.row(i).prefix) {
      for (std::uint64_t block = 0; block < run.count; ++block) {
        ++stats.blocks;
        if (!seen.insert(run.first + block).second) ++stats.blocks_seen_before;
      }
    }
  }
  return stats;
}

}  // namespace

double PrefixStats::share() const {
  return blocks == 0 ? 0 : static_cast<double>(blocks_seen_before) / static_cast<double>(blocks);
}

double percentile(std::vector<std::int64_t>& values, double q) {
  assert(!values.empty() && q >= 0 && q <= 1);
  const double position = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(below);
  std::nth_element(values.begin(), middle, values.end());
  const auto low = static_cast<double>(*middle);
  if (below + 1 == values.size()) return low;
  const auto high = static_cast<double>(*std::min_element(middle + 1, values.end()));
  return low + (position - static_cast<double>(below)) * (high - low);
}

TraceStats stats_of(const Trace& trace) {
  assert(!trace.empty());
  std::vector<std::int64_t> prompts;
  std::vector<std::int64_t> outputs;
  std::unordered_set<std::uint32_t> sessions;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const TraceRow row = trace.row(i);
    prompts.push_back(row.prompt.count());
    outputs.push_back(row.output.count());
    if (row.session) sessions.insert(*row.session);
  }
  TraceStats stats;
  stats.requests = static_cast<std::int64_t>(trace.size());
  if (trace.has_arrivals()) stats.arrivals = arrival_stats(trace);
  stats.prompt = length_stats(std::move(prompts));
  stats.output = length_stats(std::move(outputs));
  stats.sessions = static_cast<std::int64_t>(sessions.size());
  if (trace.has_prefixes()) stats.prefix = prefix_stats(trace);
  return stats;
}

}  // namespace servecast
