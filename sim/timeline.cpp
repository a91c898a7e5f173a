#include "sim/timeline.hpp"

namespace servecast {

void Timeline::add(const TimelineSample& sample) {
  if (samples_.size() == kMost) {
    for (std::size_t i = 0; i < kMost / 2; ++i) samples_[i] = samples_[2 * i];
    samples_.resize(kMost / 2);
    every_ *= 2;
  }
  samples_.push_back(sample);
  const auto elapsed = sample.at - kStart;
  next_ = kStart + (elapsed / every_ + 1) * every_;
}

}  // namespace servecast
