#include "sim/log_histogram.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace servecast {

void LogHistogram::add(const LogHistogram& other) {
  if (other.weights_.size() > weights_.size()) weights_.resize(other.weights_.size());
  for (std::size_t bin = 0; bin < other.weights_.size(); ++bin) weights_[bin] += other.weights_[bin];
  total_ += other.total_;
  sum_ += other.sum_;
  maximum_ = std::max(maximum_, other.maximum_);
}

double LogHistogram::middle_of(std::size_t bin) {
  if (bin < (2U << kBits)) return static_cast<double>(bin);
  const int shift = static_cast<int>(bin >> kBits) - 1;
  const double low = std::ldexp(static_cast<double>((bin & ((1U << kBits) - 1)) + (1U << kBits)), shift);
  return low + 0.5 * (std::ldexp(1.0, shift) - 1.0);
}

double LogHistogram::quantile_seconds(double q) const {
  assert(total_ > 0);
  const std::int64_t rank =
      std::clamp<std::int64_t>(static_cast<std::int64_t>(std::ceil(q * static_cast<double>(total_))), 1, total_);
  std::int64_t seen = 0;
  for (std::size_t bin = 0; bin < weights_.size(); ++bin) {
    seen += weights_[bin];
    if (seen >= rank) return std::min(middle_of(bin) * 1e-9, seconds(maximum_));
  }
  return seconds(maximum_);
}

}  // namespace servecast
