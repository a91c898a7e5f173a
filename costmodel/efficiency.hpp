// How far kernels stay below a device's peaks. One curve per kernel family; all are smooth, grow with work and
// never go below the roofline, since every share is at most 1.
#pragma once

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

// A curve over a device's peaks, inverted once: what the hot path multiplies by.
struct KernelTime {
  double launch_s = 0;
  double per_flop_s = 0;
  double per_byte_s = 0;
  double per_row_s = 0;

  KernelTime() = default;
  KernelTime(const Curve& curve, double flops_per_second, double bytes_per_second)
      : launch_s(curve.launch_s),
        per_flop_s(1 / (flops_per_second * curve.compute)),
        per_byte_s(1 / (bytes_per_second * curve.memory)),
        per_row_s(curve.row_s) {}

  // Phases that follow each other (prefill attention waits for its loads): launch + compute + memory.
  [[nodiscard]] double summed(double flops, double bytes) const {
    return launch_s + flops * per_flop_s + bytes * per_byte_s;
  }
  // Phases that overlap, the largest deciding far from the ridge: launch + root of the sum of squares.
  [[nodiscard]] double overlapped(double flops, double bytes, double rows = 0) const {
    const double c = flops * per_flop_s;
    const double m = bytes * per_byte_s;
    const double r = rows * per_row_s;
    return launch_s + std::sqrt(c * c + m * m + r * r);
  }
};

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
