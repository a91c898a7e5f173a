// Degenerate set-ups that are textbook queues: one request at a time, service times known.
//   M/D/1: wait = λ·D²/(2·(1 − ρ));  M/G/1: wait = λ·E[S²]/(2·(1 − ρ)), ρ = λ·E[S]  (Pollaczek and Khinchine).
#include <cmath>
#include <doctest/doctest.h>
#include <numeric>

#include "policies/registry.hpp"
#include "sim/simulation.hpp"
#include "sim/summary.hpp"
#include "traces/workload.hpp"

using namespace servecast;

namespace {

constexpr double kStepSeconds = 0.5;

class HalfSecondSteps final : public StepCostModel {
 public:
  StepCost cost(const StepShape&) override { return {from_seconds(kStepSeconds), Duration{0}}; }
};

struct Estimate {
  double mean, half_width;  // of a 99.9 % confidence interval, from 50 batches of the run
};

Estimate waiting(double rate, const LengthSpec& output, std::int64_t requests, std::uint64_t seed) {
  WorkloadSpec spec;
  spec.arrivals = PoissonArrivals{rate};
  spec.lengths = DrawnLengths{{FixedLength{1}}, output};
  spec.requests = requests;
  spec.seed = seed;
  const auto source = make_workload(spec);
  RequestTable table;
  const auto scheduler = make_scheduler(OrcaOptions{.max_batch = 1}, table);
  HalfSecondSteps model;
  PredictedExecutor executor(model);
  SimulationConfig config;
  config.replica.usable_blocks = Blocks{1'000'000};
  config.replica.block_size = Tokens{1};
  config.replica.grows = false;
  const RunResult result = simulate(config, table, *source, *scheduler, executor);
  REQUIRE_FALSE(result.stopped_at_horizon);

  constexpr std::uint32_t kBatches = 50;
  const std::uint32_t each = table.size() / kBatches;
  std::vector<double> means;
  for (std::uint32_t b = 0; b < kBatches; ++b) {
    double sum = 0;
    for (std::uint32_t i = b * each; i < (b + 1) * each; ++i) {
      sum += seconds(table[i].first_token_at - table[i].arrived_at) - kStepSeconds;  // its own first step
    }
    means.push_back(sum / each);
  }
  const double mean = std::accumulate(means.begin(), means.end(), 0.0) / kBatches;
  double squares = 0;
  for (const double m : means) squares += (m - mean) * (m - mean);
  const double deviation = std::sqrt(squares / (kBatches - 1));
  return {mean, 3.5 * deviation / std::sqrt(kBatches)};  // Student's t, 49 degrees of freedom, two-sided 0.999
}

void check_wait(const Estimate& estimate, double expected) {
  INFO("mean " << estimate.mean << " ± " << estimate.half_width << ", expected " << expected);
  CHECK(std::abs(estimate.mean - expected) < estimate.half_width);
  CHECK(estimate.half_width < 0.1 * expected);  // the interval is narrow enough to tell
}

}  // namespace

TEST_CASE("M/D/1: one token a request is a queue with constant service") {
  for (const double rate : {0.6, 1.0, 1.5}) {
    const double rho = rate * kStepSeconds;
    check_wait(waiting(rate, {FixedLength{1}}, 200'000, 1), rate * kStepSeconds * kStepSeconds / (2 * (1 - rho)));
  }
}

TEST_CASE("M/G/1: answers of 1 to 9 tokens one after the other") {
  const double mean = 5 * kStepSeconds;
  double second = 0;
  for (int n = 1; n <= 9; ++n) second += n * n * kStepSeconds * kStepSeconds / 9;
  for (const double rate : {0.1, 0.2, 0.3}) {
    check_wait(waiting(rate, {UniformLength{1, 9}}, 200'000, 2), rate * second / (2 * (1 - rate * mean)));
  }
}

TEST_CASE("published queueing figures: R = 1/s and D = 0.5 s wait 0.25 s, R = 1.5/s wait 0.75 s") {
  check_wait(waiting(1.0, {FixedLength{1}}, 200'000, 3), 0.75 - 0.5);
  check_wait(waiting(1.5, {FixedLength{1}}, 200'000, 4), 1.25 - 0.5);
}
