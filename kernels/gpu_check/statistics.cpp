#include "kernels/gpu_check/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace servecast::kernels::gpu_check {

double median(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const std::size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

Summary summarise(std::span<const double> seconds) {
  Summary summary;
  summary.median_s = median(seconds);
  summary.min_s = *std::min_element(seconds.begin(), seconds.end());
  summary.samples = static_cast<std::int32_t>(seconds.size());
  std::vector<double> deviations;
  deviations.reserve(seconds.size());
  for (const double value : seconds) deviations.push_back(std::abs(value - summary.median_s));
  if (summary.median_s > 0) summary.noise = median(deviations) / summary.median_s;
  return summary;
}

std::int32_t replays_wanted(std::span<const double> seconds) {
  const auto taken = static_cast<std::int32_t>(seconds.size());
  if (taken < kFirstReplays) return kFirstReplays - taken;
  if (taken > kFirstReplays) return 0;
  return summarise(seconds).noise > kQuietNoise ? kMoreReplays : 0;
}

std::int32_t calls_of(double seconds_per_call) {
  if (seconds_per_call <= kGraphSeconds / kMostCalls) return kMostCalls;
  return std::max(1, static_cast<std::int32_t>(std::lround(kGraphSeconds / seconds_per_call)));
}

std::int32_t buffer_sets(std::int64_t set_bytes, std::int64_t l2_bytes, std::int64_t memory_bytes, std::int32_t calls) {
  const std::int64_t size = std::max<std::int64_t>(set_bytes, 1);
  const std::int64_t cold = kColdOverL2 * l2_bytes / size + 1;
  const std::int64_t fitting = std::max<std::int64_t>(memory_bytes / size, 1);
  return static_cast<std::int32_t>(std::min({cold, fitting, std::int64_t{calls}}));
}

void Sentinel::measured(double now_s, double seconds) {
  if (!first_) first_ = seconds;
  last_s_ = now_s;
  drift_ = std::max(drift_, std::abs(seconds / *first_ - 1));
}

}  // namespace servecast::kernels::gpu_check
