// What a run looked like over time, sampled at step ends. The samples are bounded: when they are full, every
// second one is dropped and the interval doubles.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/time.hpp"
#include "sim/units.hpp"

namespace servecast {

struct TimelineSample {
  SimTime at;
  std::int64_t running;
  std::int64_t waiting;
  Blocks kv_used;
  std::int64_t tokens_emitted;  // cumulative, like all below
  std::int64_t prefill_tokens;
  std::int64_t preemptions;
  friend bool operator==(const TimelineSample&, const TimelineSample&) = default;
};

class Timeline {
 public:
  Timeline(Duration every, std::size_t most) : every_(every), most_(most) {}

  [[nodiscard]] bool due(SimTime now) const { return now >= next_; }
  // Requires due(sample.at).
  void add(const TimelineSample& sample);
  [[nodiscard]] const std::vector<TimelineSample>& samples() const { return samples_; }

 private:
  Duration every_;
  std::size_t most_;
  SimTime next_ = kStart;
  std::vector<TimelineSample> samples_;
};

}  // namespace servecast
