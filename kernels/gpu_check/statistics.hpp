// How long a point is measured and what is kept of it: pure functions of the samples, so that they are tested without
// a device.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace servecast::kernels::gpu_check {

// A point is measured in replays of a graph; this many at first, and as many more, once, where they scatter.
inline constexpr std::int32_t kFirstReplays = 7;
inline constexpr std::int32_t kMoreReplays = 15;
inline constexpr double kQuietNoise = 0.03;

// A graph of calls lasts long enough that its own launch (microseconds) does not count, and no longer.
inline constexpr double kGraphSeconds = 3e-3;
inline constexpr std::int32_t kMostCalls = 50;

// Operands rotate through this many times the L2, so that each call finds its own out of the cache: as in an engine,
// where a layer's weights were last read a step ago.
inline constexpr std::int64_t kColdOverL2 = 5;

struct Summary {
  double median_s = 0;
  double min_s = 0;
  double noise = 0;  // median absolute deviation over the median
  std::int32_t samples = 0;
};

// Of at least one sample; an even number has the mean of the middle two as its median.
[[nodiscard]] double median(std::span<const double> values);
[[nodiscard]] Summary summarise(std::span<const double> seconds);

// How many replays to add to those taken: 0 when the point is done.
[[nodiscard]] std::int32_t replays_wanted(std::span<const double> seconds);

// Calls a graph, from an estimate of one.
[[nodiscard]] std::int32_t calls_of(double seconds_per_call);

// Sets of operands to rotate through: more than kColdOverL2 times the L2 in all, never more than there are calls, nor
// more than `memory_bytes` hold. At least one.
[[nodiscard]] std::int32_t buffer_sets(std::int64_t set_bytes, std::int64_t l2_bytes, std::int64_t memory_bytes,
                                       std::int32_t calls);

// One fixed point, measured again from time to time: where it moves, clocks or neighbours did.
class Sentinel {
 public:
  static constexpr double kIntervalSeconds = 20;
  static constexpr double kDrift = 0.03;

  [[nodiscard]] bool due(double now_s) const { return !last_s_ || now_s - *last_s_ >= kIntervalSeconds; }
  void measured(double now_s, double seconds);
  // Largest change against the first measurement, as a share of it.
  [[nodiscard]] double drift() const { return drift_; }
  [[nodiscard]] bool steady() const { return drift_ <= kDrift; }

 private:
  std::optional<double> first_;
  std::optional<double> last_s_;
  double drift_ = 0;
};

}  // namespace servecast::kernels::gpu_check
