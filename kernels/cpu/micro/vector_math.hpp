// Vectors at the end of an array, and 2^x.
#pragma once

#include <cstdint>

#include "kernels/cpu/micro/target.hpp"

namespace servecast::kernels::cpu {

constexpr float kLog2E = 1.44269504088896340736F;

// The first `count` elements at `from`, the others `fill`.
template <class Lanes>
SERVECAST_LANE typename Lanes::Vector load_part(const float* from, std::int64_t count, float fill) {
  if (count >= Lanes::kLanes) return Lanes::load(from);
  Block<float, Lanes::kLanes> whole;
  for (int i = 0; i < Lanes::kLanes; ++i) whole[i] = i < count ? from[i] : fill;
  return Lanes::load(whole);
}

template <class Lanes>
SERVECAST_LANE void store_part(float* to, std::int64_t count, typename Lanes::Vector value) {
  if (count >= Lanes::kLanes) return Lanes::store(to, value);
  Block<float, Lanes::kLanes> whole;
  Lanes::store(whole, value);
  for (std::int64_t i = 0; i < count; ++i) to[i] = whole[i];
}

template <class Lanes>
SERVECAST_LANE float sum_of(typename Lanes::Vector value) {
  Block<float, Lanes::kLanes> each;
  Lanes::store(each, value);
  for (int half = Lanes::kLanes / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) each[i] += each[i + half];
  }
  return each[0];
}

template <class Lanes>
SERVECAST_LANE float largest_of(typename Lanes::Vector value) {
  Block<float, Lanes::kLanes> each;
  Lanes::store(each, value);
  for (int i = 1; i < Lanes::kLanes; ++i) each[0] = each[i] > each[0] ? each[i] : each[0];
  return each[0];
}

// 2^x within 2 units in the last place where the result is a normal number; exactly 0 below −127, and infinity from
// 127.5 on. x = whole + part with |part| ≤ ½, and 2^part by its Taylor series, whose next term is below 6e-9.
template <class Lanes>
SERVECAST_LANE typename Lanes::Vector power_of_two(typename Lanes::Vector x) {
  const typename Lanes::Vector bounded = Lanes::min(Lanes::broadcast(128), Lanes::max(Lanes::broadcast(-127), x));
  const typename Lanes::Vector whole = Lanes::round(bounded);
  const typename Lanes::Vector part = bounded - whole;
  // (ln 2)^i / i!, i from 7 to 0
  constexpr float kTaylor[] = {
      1.525273380405984e-5F, 1.540353039338161e-4F, 1.333355814642844e-3F, 9.618129107628477e-3F,
      5.550410866482158e-2F, 2.402265069591007e-1F, 6.931471805599453e-1F, 1.0F};
  typename Lanes::Vector sum = Lanes::broadcast(kTaylor[0]);
  SERVECAST_UNROLL
  for (int i = 1; i < 8; ++i) sum = Lanes::multiply_add(sum, part, Lanes::broadcast(kTaylor[i]));
  return sum * Lanes::whole_power_of_two(whole);
}

}  // namespace servecast::kernels::cpu
