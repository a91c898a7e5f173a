// Random inputs that are the same on every machine and with every standard library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "kernels/dtype.hpp"

namespace servecast::kernels {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  // In [0, 1).
  double uniform() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }
  // In [0, below). Requires below > 0.
  std::int64_t below(std::int64_t below) {
    return static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(below));
  }
  double normal();
  // 0 … count − 1, shuffled.
  std::vector<std::int32_t> permutation(std::int64_t count);

 private:
  std::mt19937_64 engine_;
  double spare_ = 0;
  bool has_spare_ = false;
};

// Fills an array of `type` with mean + deviation · normal for floating formats, with all values a quantiser makes for
// int8 (−127 … 127) and int4. Beyond 65537 elements, a prime, the numbers repeat, so that large arrays cost a copy and
// yet no two pages or rows are alike.
void fill_random(DType type, std::span<std::byte> bytes, std::int64_t elements, double mean, double deviation,
                 Random& random);

}  // namespace servecast::kernels
