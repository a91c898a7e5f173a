// The point protocol: operands placed and rotated, calls captured, replays until they are quiet.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/cases/random.hpp"
#include "kernels/gpu_check/arena.hpp"
#include "kernels/gpu_check/plan.hpp"
#include "kernels/gpu_check/statistics.hpp"

namespace servecast::kernels::gpu_check {

struct Measured {
  Summary summary;
  std::int32_t calls = 1;        // in one graph
  std::int32_t buffer_sets = 1;  // that the calls rotate through
  bool cold = false;             // whether those exceed kColdOverL2 times the L2
};

class Meter {
 public:
  // `quick` takes one sample of one call: whether it works, not how fast.
  Meter(Device& device, Arena& arena, bool quick) : device_(device), arena_(arena), quick_(quick) {}

  // Uses all of the arena.
  Status measure(const Point& point, Measured& measured);

 private:
  using Set = std::vector<Operation>;  // in the order of their launches

  Status place_set(const Point& point, Random& random);
  Status launch_set(std::int32_t call, Stream stream);
  // Seconds a call, from one replay of one call.
  Status estimate(double& seconds);
  Status sample(std::int32_t calls, std::vector<double>& seconds);

  Device& device_;
  Arena& arena_;
  bool quick_;
  std::vector<Set> sets_;
};

}  // namespace servecast::kernels::gpu_check
