// Means of correlated samples with confidence intervals, by batch means.
#pragma once

#include <cmath>
#include <doctest/doctest.h>
#include <numeric>
#include <vector>

namespace servecast::test {

struct Estimate {
  double mean, half_width;  // of a 99.9 % confidence interval, from 50 batches of the run
};

inline Estimate batch_means(const std::vector<double>& values) {
  constexpr std::size_t kBatches = 50;
  const std::size_t each = values.size() / kBatches;
  std::vector<double> means;
  for (std::size_t b = 0; b < kBatches; ++b) {
    const auto first = values.begin() + static_cast<std::ptrdiff_t>(b * each);
    means.push_back(std::accumulate(first, first + static_cast<std::ptrdiff_t>(each), 0.0) / static_cast<double>(each));
  }
  const double mean = std::accumulate(means.begin(), means.end(), 0.0) / kBatches;
  double squares = 0;
  for (const double m : means) squares += (m - mean) * (m - mean);
  const double deviation = std::sqrt(squares / (kBatches - 1));
  return {mean, 3.5 * deviation / std::sqrt(kBatches)};  // Student's t, 49 degrees of freedom, two-sided 0.999
}

inline void check_mean(const Estimate& estimate, double expected) {
  INFO("mean " << estimate.mean << " ± " << estimate.half_width << ", expected " << expected);
  CHECK(std::abs(estimate.mean - expected) < estimate.half_width);
  CHECK(estimate.half_width < 0.1 * expected);  // the interval is narrow enough to tell
}

}  // namespace servecast::test
