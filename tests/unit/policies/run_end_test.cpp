// How runs begin and end: ties, timers that outlive their batch, horizons, what hides the host.
#include <doctest/doctest.h>

#include "sim/error.hpp"
#include "tests/support/causes.hpp"
#include "tests/support/unit_run.hpp"

using namespace servecast;
using namespace servecast::test;

namespace {

RunResult run_under(SimulationConfig config, const std::vector<Spec::Req>& requests, const SchedulerOptions& options,
                    RequestTable& table) {
  const ReplicaNeeds needs = replica_needs(options);
  config.replica.usable_blocks = Blocks{100};
  config.replica.block_size = Tokens{4};
  config.replica.grows = needs.grows;
  config.replica.hold_until_batch_end = needs.hold_until_batch_end;
  config.replica.deliver_at_batch_end = needs.deliver_at_batch_end;
  config.replica.check_every = 1;
  ListSource source(requests);
  EqualSteps model(1);
  PredictedExecutor executor(model);
  const auto scheduler = make_scheduler(options, table);
  return simulate(config, table, source, *scheduler, executor);
}

constexpr SimTime kHalfPastTen{std::chrono::milliseconds{10'500}};

}  // namespace

TEST_CASE("a run ends with its last request, whatever timer is still set") {
  StaticOptions options{.batch_size = 2, .max_len = Tokens{16}, .padding = false};
  options.wait_for_batch = std::chrono::seconds{50};
  const std::vector<Spec::Req> requests{{"A", 0, 4, 1}, {"B", 1, 4, 1}};
  RequestTable unlimited, limited;
  CHECK(run_under({}, requests, options, unlimited).ended_at == at_second(2));

  SimulationConfig config;
  config.horizon = at_second(10);
  const RunResult result = run_under(config, requests, options, limited);
  CHECK_FALSE(result.stopped_at_horizon);  // nothing was cut off
  CHECK(result.ended_at == at_second(2));
}

TEST_CASE("a horizon before an arrival cuts it off") {
  SimulationConfig config;
  config.horizon = at_second(10);
  RequestTable table;
  const RunResult result = run_under(config, {{"A", 0, 4, 1}, {"B", 11, 4, 1}}, VllmV1Options{}, table);
  CHECK(result.stopped_at_horizon);
  CHECK(result.ended_at == at_second(10));
  CHECK(table.size() == 1);
}

// Two slots, steps of 1 s: A and B decode, C and D wait, E arrives at 10 in the middle of a step. Half a step is cut
// off.
TEST_CASE("what is open at the horizon has its time accounted for until then") {
  for (const bool async : {false, true}) {
    SimulationConfig config;
    config.horizon = kHalfPastTen;
    config.replica.async_scheduling = async;
    RequestTable table;
    const RunResult result =
        run_under(config, {{"A", 0, 4, 30}, {"B", 2, 4, 30}, {"C", 3, 4, 3}, {"D", 4, 4, 3}, {"E", 10, 4, 3}},
                  VllmV0Options{2, Tokens{64}, 0}, table);
    REQUIRE(table.size() == 5);
    for (std::uint32_t i = 0; i < table.size(); ++i) {
      CHECK(table[i].outcome == Outcome::kOpen);
      CHECK(sum_of_causes(table[i]) == kHalfPastTen - table[i].arrived_at);
      for (const Duration spent : table[i].spent) CHECK(spent >= Duration{0});
    }
    CHECK(table[0].time_in(Cause::kPrefill) == std::chrono::seconds{1});
    CHECK(table[3].time_in(Cause::kSlot) + table[3].time_in(Cause::kBoundary) == kHalfPastTen - at_second(4));
    CHECK(table[0].last_token_at == at_second(10));
    CHECK(result.counters.busy == kHalfPastTen - kStart);
    const Duration running = (kHalfPastTen - kStart) + (kHalfPastTen - at_second(2));  // A, and B from 2 on
    CHECK(result.counters.running_ns == running.count());
  }
}

TEST_CASE("what a batch has not delivered by the horizon has no first token") {
  SimulationConfig config;
  config.horizon = kHalfPastTen;
  RequestTable table;
  const StaticOptions options{.batch_size = 2, .max_len = Tokens{40}, .deliver_at_end = true};
  (void)run_under(config, {{"A", 0, 4, 3}, {"B", 0, 4, 30}}, options, table);
  for (const std::uint32_t i : {0U, 1U}) {  // A is done and waits for B
    CHECK(table[i].outcome == Outcome::kOpen);
    CHECK(table[i].first_token_at == kNever);
    CHECK(sum_of_causes(table[i]) == kHalfPastTen - kStart);
  }
  CHECK(table[0].time_in(Cause::kIdle) == kHalfPastTen - at_second(3));
}

TEST_CASE("requests that a closed loop sends at the same instant arrive in the order in which it gives them") {
  class NineAtOnce final : public ArrivalSource {
   public:
    std::optional<Arrival> next() override {
      if (given_ == 9) return std::nullopt;
      return Arrival{kStart, Tokens{++given_}, Tokens{1}, Tokens{1}};
    }
    [[nodiscard]] bool closed_loop() const override { return true; }
    void finished(RequestId, SimTime) override {}

   private:
    std::int64_t given_ = 0;
  };
  NineAtOnce source;
  EqualSteps model(1);
  PredictedExecutor executor(model);
  RequestTable table;
  const auto scheduler = make_scheduler(VllmV1Options{}, table);
  SimulationConfig config;
  config.replica.usable_blocks = Blocks{100};
  config.replica.block_size = Tokens{4};
  (void)simulate(config, table, source, *scheduler, executor);
  REQUIRE(table.size() == 9);
  for (std::uint32_t i = 0; i < 9; ++i) CHECK(table[i].prompt == i + 1);
}

TEST_CASE("a source that sends nothing to compute or nothing to say is stopped, not served for ever") {
  RequestTable first, second;
  CHECK_THROWS_AS((void)run_under({}, {{"A", 0, 4, 0}}, VllmV1Options{}, first), SelfCheckError);
  CHECK_THROWS_AS((void)run_under({}, {{"A", 0, 0, 4}}, VllmV1Options{}, second), SelfCheckError);
}

// The host takes 3 s a step; the prefill lasts 10 s on the device, a decode 1 s. The first step is planned when nothing
// runs: 3 + 10. The second is planned while the first runs, which hides its host time: 1. The third's is hidden by the
// second's second only: 2 + 1, and so is the fourth's.
TEST_CASE("async: host time is hidden by the step before, and not by what has not run") {
  class HostBound final : public StepCostModel {
   public:
    StepCost cost(const StepShape& shape) override {
      return {std::chrono::seconds{shape.prefills.empty() ? 1 : 10}, std::chrono::seconds{3}};
    }
  };
  const std::vector<Spec::Req> requests{{"A", 0, 4, 4}};
  ListSource source(requests);
  HostBound model;
  PredictedExecutor executor(model);
  RequestTable table;
  const auto scheduler = make_scheduler(VllmV1Options{}, table);
  SimulationConfig config;
  config.replica.usable_blocks = Blocks{100};
  config.replica.block_size = Tokens{4};
  config.replica.async_scheduling = true;
  const RunResult result = simulate(config, table, source, *scheduler, executor);
  CHECK(table[0].first_token_at == at_second(13));
  CHECK(table[0].last_token_at == at_second(20));
  CHECK(result.counters.host == std::chrono::seconds{7});
}
