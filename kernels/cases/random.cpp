#include "kernels/cases/random.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <numeric>

namespace servecast::kernels {
namespace {

constexpr std::int64_t kPeriod = 65537;

double random_element(DType type, double mean, double deviation, Random& random) {
  if (type == DType::kInt8) return static_cast<double>(random.below(255) - 127);
  if (type == DType::kInt4) return static_cast<double>(random.below(16) - 8);
  return mean + deviation * random.normal();
}

}  // namespace

double Random::normal() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_;
  }
  const double radius = std::sqrt(-2 * std::log1p(-uniform()));
  const double angle = 2 * std::numbers::pi * uniform();
  spare_ = radius * std::sin(angle);
  has_spare_ = true;
  return radius * std::cos(angle);
}

std::vector<std::int32_t> Random::permutation(std::int64_t count) {
  std::vector<std::int32_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  for (std::int64_t i = count - 1; i > 0; --i) {
    std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(below(i + 1))]);
  }
  return order;
}

void fill_random(DType type, std::span<std::byte> bytes, std::int64_t elements, double mean, double deviation,
                 Random& random) {
  // An int4 period is made of whole bytes: two periods of elements.
  const std::int64_t period = type == DType::kInt4 ? 2 * kPeriod : kPeriod;
  const std::int64_t drawn = std::min(elements, period);
  for (std::int64_t i = 0; i < drawn; ++i) store(type, bytes.data(), i, random_element(type, mean, deviation, random));
  std::size_t filled = static_cast<std::size_t>(bytes_of(type, drawn));
  while (filled < bytes.size()) {
    // Twice as much each time, always a multiple of the period.
    const std::size_t more = std::min(filled, bytes.size() - filled);
    std::memcpy(bytes.data() + filled, bytes.data(), more);
    filled += more;
  }
}

}  // namespace servecast::kernels
