// Loops over the elements of one row.
#pragma once

#include "kernels/cpu/micro/micro.hpp"
#include "kernels/cpu/micro/target.hpp"
#include "kernels/cpu/micro/vector_math.hpp"

namespace servecast::kernels::cpu {

template <class Lanes>
SERVECAST_ISA float sum_of_squares(const float* x, std::int64_t count) {
  typename Lanes::Vector sum = Lanes::broadcast(0);
  for (std::int64_t i = 0; i < count; i += Lanes::kLanes) {
    const typename Lanes::Vector value = load_part<Lanes>(x + i, count - i, 0);
    sum = Lanes::multiply_add(value, value, sum);
  }
  return sum_of<Lanes>(sum);
}

// x / (1 + e^(−steepness · x)): silu for a steepness of 1.
template <class Lanes>
SERVECAST_LANE typename Lanes::Vector logistic(typename Lanes::Vector x, typename Lanes::Vector steepness) {
  const typename Lanes::Vector falling = power_of_two<Lanes>(x * steepness * Lanes::broadcast(-kLog2E));
  return x / (Lanes::broadcast(1) + falling);
}

// The tanh form of gelu is x · logistic of 2u, u = √(2/π) · (x + 0.044715 x³): ½ (1 + tanh u) = 1 / (1 + e^(−2u)).
template <class Lanes>
SERVECAST_LANE typename Lanes::Vector curve_of(Curve curve, typename Lanes::Vector x) {
  if (curve == Curve::kSilu) return logistic<Lanes>(x, Lanes::broadcast(1));
  constexpr float kTwiceRoot = 1.59576912160573071F;
  const typename Lanes::Vector cubic = Lanes::multiply_add(x * x, Lanes::broadcast(0.044715F), Lanes::broadcast(1));
  return logistic<Lanes>(x, cubic * Lanes::broadcast(kTwiceRoot));
}

template <class Lanes>
SERVECAST_ISA void activate(Curve curve, const float* x, const float* gate, std::int64_t count, float* out) {
  for (std::int64_t i = 0; i < count; i += Lanes::kLanes) {
    typename Lanes::Vector value = curve_of<Lanes>(curve, load_part<Lanes>(x + i, count - i, 0));
    if (gate != nullptr) value = value * load_part<Lanes>(gate + i, count - i, 0);
    store_part<Lanes>(out + i, count - i, value);
  }
}

}  // namespace servecast::kernels::cpu
