// Degenerate set-ups that are textbook queues: one request at a time, service times known.
//   M/D/1: wait = λ·D²/(2·(1 − ρ));  M/G/1: wait = λ·E[S²]/(2·(1 − ρ)), ρ = λ·E[S]  (Pollaczek and Khinchine).
#include <doctest/doctest.h>
#include <vector>

#include "policies/registry.hpp"
#include "sim/simulation.hpp"
#include "tests/laws/batch_means.hpp"
#include "traces/workload.hpp"

using namespace servecast;
using namespace servecast::test;

namespace {

constexpr double kStepSeconds = 0.5;

class HalfSecondSteps final : public StepCostModel {
 public:
  StepCost cost(const StepShape&) override { return {from_seconds(kStepSeconds), Duration{0}}; }
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

  std::vector<double> waits;
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    waits.push_back(seconds(table[i].first_token_at - table[i].arrived_at) - kStepSeconds);  // its own first step
  }
  return batch_means(waits);
}

}  // namespace

TEST_CASE("M/D/1: one token a request is a queue with constant service") {
  for (const double rate : {0.6, 1.0, 1.5}) {
    const double rho = rate * kStepSeconds;
    check_mean(waiting(rate, {FixedLength{1}}, 200'000, 1), rate * kStepSeconds * kStepSeconds / (2 * (1 - rho)));
  }
}

TEST_CASE("M/G/1: answers of 1 to 9 tokens one after the other") {
  const double mean = 5 * kStepSeconds;
  double second = 0;
  for (int n = 1; n <= 9; ++n) second += n * n * kStepSeconds * kStepSeconds / 9;
  for (const double rate : {0.1, 0.2, 0.3}) {
    check_mean(waiting(rate, {UniformLength{1, 9}}, 200'000, 2), rate * second / (2 * (1 - rate * mean)));
  }
}

TEST_CASE("published queueing figures: R = 1/s and D = 0.5 s wait 0.25 s, R = 1.5/s wait 0.75 s") {
  check_mean(waiting(1.0, {FixedLength{1}}, 200'000, 3), 0.75 - 0.5);
  check_mean(waiting(1.5, {FixedLength{1}}, 200'000, 4), 1.25 - 0.5);
}
