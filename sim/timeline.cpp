#include "sim/timeline.hpp"

namespace servecast {

void Timeline::add(const TimelineSample& sample) {
  if (samples_.size() == most_) {
    for (std::size_t i = 0; i < most_ / 2; ++i) samples_[i] = samples_[2 * i];
    samples_.resize(most_ / 2);
    every_ *= 2;
  }
  samples_.push_back(sample);
  const auto elapsed = sample.at - kStart;
  next_ = kStart + (elapsed / every_ + 1) * every_;
}

}  // namespace servecast
