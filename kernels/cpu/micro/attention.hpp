// One query row against a tile of keys and values.
#pragma once

#include "kernels/cpu/micro/micro.hpp"
#include "kernels/cpu/micro/target.hpp"
#include "kernels/cpu/micro/vector_math.hpp"

namespace servecast::kernels::cpu {

// kKeys products at once: as many sums in flight as hide a multiply-add's latency, as many pointers as fit registers.
template <class Lanes, int kKeys>
SERVECAST_LANE void dot_products(const float* query, const float* const* keys, std::int64_t width,
                                 typename Lanes::Vector* sums) {
  Block<const float*, kKeys> rows;
  Vectors<Lanes, kKeys> running;
  SERVECAST_UNROLL
  for (int j = 0; j < kKeys; ++j) {
    rows[j] = keys[j];
    running[j] = Lanes::broadcast(0);
  }
  for (std::int64_t d = 0; d < width; d += Lanes::kLanes) {
    const typename Lanes::Vector q = Lanes::load(query + d);
    SERVECAST_UNROLL
    for (int j = 0; j < kKeys; ++j) running[j] = Lanes::multiply_add(q, Lanes::load(rows[j] + d), running[j]);
  }
  SERVECAST_UNROLL
  for (int j = 0; j < kKeys; ++j) sums[j] = running[j];
}

template <class Lanes>
SERVECAST_ISA void score_keys(const float* query, const float* const* keys, std::int64_t count, std::int64_t width,
                              float scale, float* scores) {
  constexpr int kKeys = Lanes::kLanes < 8 ? Lanes::kLanes : 8;
  for (std::int64_t j = 0; j < count; j += Lanes::kLanes) {
    Vectors<Lanes, Lanes::kLanes> sums;
    SERVECAST_UNROLL
    for (int part = 0; part < Lanes::kLanes; part += kKeys) {
      dot_products<Lanes, kKeys>(query, keys + j + part, width, sums + part);
    }
    Lanes::store(scores + j, Lanes::sums_of(sums) * Lanes::broadcast(scale));
  }
}

template <class Lanes>
SERVECAST_ISA float soften(float* scores, std::int64_t count, Softmax& state) {
  constexpr float kNone = -__builtin_inff();
  typename Lanes::Vector peak = Lanes::broadcast(state.largest);
  for (std::int64_t j = 0; j < count; j += Lanes::kLanes) {
    peak = Lanes::max(peak, load_part<Lanes>(scores + j, count - j, kNone));
  }
  const float largest = largest_of<Lanes>(peak);
  typename Lanes::Vector sum = Lanes::broadcast(0);
  for (std::int64_t j = 0; j < count; j += Lanes::kLanes) {
    const typename Lanes::Vector score = load_part<Lanes>(scores + j, count - j, kNone);
    const typename Lanes::Vector weight = power_of_two<Lanes>(score - Lanes::broadcast(largest));
    sum = sum + weight;
    store_part<Lanes>(scores + j, count - j, weight);
  }
  Block<float, Lanes::kLanes> shrink;
  Lanes::store(shrink, power_of_two<Lanes>(Lanes::broadcast(state.largest - largest)));
  state.sum = state.sum * shrink[0] + sum_of<Lanes>(sum);
  state.largest = largest;
  return shrink[0];
}

template <class Lanes, int kVectors>
SERVECAST_LANE void mix_columns(const float* weights, const float* const* values, std::int64_t count,
                                std::int64_t first, float keep, float* out) {
  Vectors<Lanes, kVectors> sums;
  SERVECAST_UNROLL
  for (int v = 0; v < kVectors; ++v) sums[v] = Lanes::load(out + first + v * Lanes::kLanes) * Lanes::broadcast(keep);
  for (std::int64_t j = 0; j < count; ++j) {
    const typename Lanes::Vector weight = Lanes::broadcast(weights[j]);
    const float* value = values[j] + first;
    SERVECAST_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      sums[v] = Lanes::multiply_add(weight, Lanes::load(value + v * Lanes::kLanes), sums[v]);
    }
  }
  SERVECAST_UNROLL
  for (int v = 0; v < kVectors; ++v) Lanes::store(out + first + v * Lanes::kLanes, sums[v]);
}

template <class Lanes>
SERVECAST_ISA void mix(const float* weights, const float* const* values, std::int64_t count, std::int64_t width,
                       float keep, float* out) {
  std::int64_t first = 0;
  for (; first + 8 * Lanes::kLanes <= width; first += 8 * Lanes::kLanes) {
    mix_columns<Lanes, 8>(weights, values, count, first, keep, out);
  }
  for (; first + 4 * Lanes::kLanes <= width; first += 4 * Lanes::kLanes) {
    mix_columns<Lanes, 4>(weights, values, count, first, keep, out);
  }
  for (; first < width; first += Lanes::kLanes) mix_columns<Lanes, 1>(weights, values, count, first, keep, out);
}

}  // namespace servecast::kernels::cpu
