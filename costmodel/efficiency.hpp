// How far kernels stay below a device's peaks. One curve per kernel family; all are smooth, grow with work and
// never go below the roofline, since every share is at most 1.
#pragma once

#include <algorithm>
#include <cmath>
#include <string_view>

namespace servecast {

struct Curve {
  double launch_s = 0;  // what a kernel takes with next to nothing to do
  double compute = 1;   // share of the peak rate it reaches, in (0, 1]
  double memory = 1;    // share of the peak bandwidth, in (0, 1]
  double row_s = 0;     // decode attention: per sequence and key-value head, what many short rows cost

  friend bool operator==(const Curve&, const Curve&) = default;
};

// Phases that follow each other (prefill attention waits for its loads): launch + compute + memory.
[[nodiscard]] inline double summed(const Curve& curve, double compute_s, double memory_s) {
  return curve.launch_s + compute_s / curve.compute + memory_s / curve.memory;
}

// Phases that overlap, the largest deciding far from the ridge: launch + root of the sum of squares.
[[nodiscard]] inline double overlapped(const Curve& curve, double compute_s, double memory_s, double rows = 0) {
  const double c = compute_s / curve.compute;
  const double m = memory_s / curve.memory;
  const double r = rows * curve.row_s;
  return curve.launch_s + std::max(std::sqrt(c * c + m * m + r * r), std::max(c, m));  // a root may round down
}

struct Efficiency {
  Curve gemm;
  Curve experts;  // both grouped products, the activation between them and the sorting of tokens
  Curve prefill_attention;
  Curve decode_attention;
  Curve elementwise;
  double link = 1;  // share of the link's bandwidth that an all-reduce reaches

  friend bool operator==(const Efficiency&, const Efficiency&) = default;
};

// The constants for a device by its name, else its architecture. Devices without public measurements take those of
// the nearest relative; efficiency.cpp says which.
[[nodiscard]] Efficiency default_efficiency(std::string_view device, std::string_view architecture);

}  // namespace servecast
