// A weighted histogram of positive durations whose bins are at most 1/128 wide relative to their value.
// Filling it is a shift and an add: it is filled on every step of the hot loop.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "sim/time.hpp"
#include "sim/wide.hpp"

namespace servecast {

class LogHistogram {
 public:
  void add(Duration value, std::int64_t weight) {
    const std::uint64_t v = static_cast<std::uint64_t>(value.count());
    const std::size_t bin = bin_of(v);
    if (bin >= weights_.size()) weights_.resize(bin + 1);
    weights_[bin] += weight;
    total_ += weight;
    sum_ += static_cast<Wide>(v) * weight;
    if (value > maximum_) maximum_ = value;
  }

  void add(const LogHistogram& other);

  [[nodiscard]] std::int64_t total() const { return total_; }
  [[nodiscard]] Duration maximum() const { return maximum_; }  // exact
  [[nodiscard]] double mean_seconds() const {
    return total_ == 0 ? 0.0 : static_cast<double>(sum_) / static_cast<double>(total_) * 1e-9;
  }
  // The middle of the bin that holds the value of rank ⌈q · total⌉, never above the maximum: within 0.4 %. Requires
  // total() > 0.
  [[nodiscard]] double quantile_seconds(double q) const;

 private:
  static constexpr int kBits = 7;  // 128 bins an octave

  static std::size_t bin_of(std::uint64_t v) {
    if (v < (1U << kBits)) return static_cast<std::size_t>(v);
    const int shift = static_cast<int>(std::bit_width(v)) - 1 - kBits;
    return (static_cast<std::size_t>(shift) << kBits) + static_cast<std::size_t>(v >> shift);
  }
  static double middle_of(std::size_t bin);

  std::vector<std::int64_t> weights_;
  std::int64_t total_ = 0;
  Wide sum_ = 0;
  Duration maximum_{0};
};

}  // namespace servecast
