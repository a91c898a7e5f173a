// Clusters that are textbook queues: each replica serves one request at a time, one token a request, and a step lasts a
// microsecond for each prompt token, so that the prompt's length is the service time.
//   M/M/k: wait = C(k, a)·S/(k − a), a = λ·S, C the probability of waiting (Erlang's C formula)
//   M/D/1: wait = λ·D²/(2·(1 − λ·D))
#include <cmath>
#include <doctest/doctest.h>
#include <memory>
#include <vector>

#include "policies/registry.hpp"
#include "policies/routing/registry.hpp"
#include "sim/random.hpp"
#include "sim/simulation.hpp"
#include "tests/laws/batch_means.hpp"

using namespace servecast;
using namespace servecast::test;

namespace {

constexpr double kService = 0.1;  // s, on average

class MicrosecondATokenSteps final : public StepCostModel {
 public:
  StepCost cost(const StepShape& shape) override {
    return {std::chrono::microseconds{shape.prefills.front().tokens.count()}, Duration{0}};
  }
};

class PoissonSource final : public ArrivalSource {
 public:
  PoissonSource(double rate, bool exponential, std::int64_t requests)
      : rate_(rate), exponential_(exponential), left_(requests), random_(stream(31, "queue")) {}

  std::optional<Arrival> next() override {
    if (left_-- == 0) return std::nullopt;
    at_s_ += draw_exponential() / rate_;
    const double service_s = exponential_ ? kService * draw_exponential() : kService;
    const Tokens prompt{std::max<std::int64_t>(1, std::llround(service_s * 1e6))};
    return Arrival{kStart + from_seconds(at_s_), prompt, Tokens{1}, Tokens{1}};
  }
  void finished(RequestId, SimTime) override {}

 private:
  double draw_exponential() { return -std::log((static_cast<double>(random_() >> 11) + 0.5) * 0x1p-53); }

  double rate_;
  bool exponential_;
  std::int64_t left_;
  double at_s_ = 0;
  RandomStream random_;
};

// Seconds between arrival and the start of service.
std::vector<double> waits(std::size_t replicas, RouterKind kind, PoissonSource source) {
  RequestTable table;
  std::vector<MicrosecondATokenSteps> models(replicas);
  std::vector<std::unique_ptr<PredictedExecutor>> executors;
  std::vector<std::unique_ptr<Scheduler>> schedulers;
  std::vector<ReplicaSpec> specs;
  for (std::size_t i = 0; i < replicas; ++i) {
    executors.push_back(std::make_unique<PredictedExecutor>(models[i]));
    schedulers.push_back(make_scheduler(OrcaOptions{.max_batch = 1}, table));
    ReplicaConfig config;
    config.usable_blocks = Blocks{1'000'000'000};
    config.block_size = Tokens{1};
    config.grows = false;
    specs.push_back({config, schedulers.back().get(), executors.back().get(), nullptr});
  }
  const auto router = make_router({.kind = kind, .load = Load::kRequests, .slots = {}}, 1);
  const RunResult result = simulate({}, specs, *router, table, source);
  REQUIRE_FALSE(result.stopped_at_horizon);
  std::vector<double> list;
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    list.push_back(seconds(table[i].first_token_at - table[i].arrived_at) - 1e-6 * table[i].prompt);
  }
  return list;
}

// Erlang's C: the share of requests that wait, by the recursion of his B formula.
double erlang_c(int servers, double offered) {
  double b = 1;
  for (int n = 1; n <= servers; ++n) b = offered * b / (n + offered * b);
  const double rho = offered / servers;
  return b / (1 - rho * (1 - b));
}

}  // namespace

TEST_CASE("M/M/k: a shared queue before k replicas of one slot waits as Erlang says") {
  for (const int replicas : {1, 2, 4}) {
    CAPTURE(replicas);
    const double offered = 0.7 * replicas;
    const double expected = erlang_c(replicas, offered) * kService / (replicas - offered);
    const PoissonSource source(offered / kService, true, 300'000);
    check_mean(batch_means(waits(static_cast<std::size_t>(replicas), RouterKind::kSharedQueue, source)), expected);
  }
}

TEST_CASE("a random router splits Poisson arrivals into Poisson arrivals: each replica is an M/D/1 queue") {
  constexpr double kRho = 0.7;
  const PoissonSource source(4 * kRho / kService, false, 200'000);
  const double expected = kRho * kService / (2 * (1 - kRho));
  check_mean(batch_means(waits(4, RouterKind::kRandom, source)), expected);
}

TEST_CASE("who sees more of the queues waits less: random, two choices, shortest queue, one queue") {
  const auto mean = [](RouterKind kind) {
    return batch_means(waits(8, kind, PoissonSource(8 * 0.8 / kService, true, 100'000))).mean;
  };
  const double random = mean(RouterKind::kRandom), two = mean(RouterKind::kPowerOfTwo);
  const double least = mean(RouterKind::kLeastRequests), one = mean(RouterKind::kSharedQueue);
  CHECK(two < 0.6 * random);
  CHECK(least < 0.8 * two);
  CHECK(one < least);
}
