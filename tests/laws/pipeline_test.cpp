// Laws of pipelines: closed forms of queueing through the engine, and what must hold whatever the stages take.
#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "tests/laws/batch_means.hpp"
#include "tests/laws/law_run.hpp"
#include "tests/support/distserve_forms.hpp"
#include "traces/workload.hpp"

using namespace servecast;
using namespace servecast::test;

namespace {

class ConstantStages final : public StageCostModel {
 public:
  ConstantStages(std::vector<double> lengths_s, Duration handoff)
      : lengths_s_(std::move(lengths_s)), handoff_(handoff) {}
  [[nodiscard]] std::size_t stages() const override { return lengths_s_.size(); }
  StepCost stage_cost(std::size_t stage, const StepShape&) override {
    return {from_seconds(lengths_s_[stage]), Duration{0}};
  }
  Duration handoff_time(std::size_t, const StepShape&) override { return handoff_; }

 private:
  std::vector<double> lengths_s_;
  Duration handoff_;
};

// One request a batch, one token a request.
RunResult serve(ConstantStages& stages, const WorkloadSpec& spec, RequestTable& table) {
  const auto source = make_workload(spec);
  const auto scheduler = make_scheduler(OrcaOptions{.max_batch = 1}, table);
  PipelinedExecutor executor(stages);
  SimulationConfig config;
  config.replica.usable_blocks = Blocks{1'000'000};
  config.replica.block_size = Tokens{1};
  config.replica.grows = false;
  config.replica.stages = stages.stages();
  return simulate(config, table, *source, *scheduler, executor);
}

Estimate ttft(std::vector<double> stages_s, double rate, std::uint64_t seed) {
  WorkloadSpec spec;
  spec.arrivals = PoissonArrivals{rate};
  spec.lengths = DrawnLengths{{FixedLength{1}}, {FixedLength{1}}};
  spec.requests = 200'000;
  spec.seed = seed;
  RequestTable table;
  ConstantStages stages(std::move(stages_s), Duration{0});
  static_cast<void>(serve(stages, spec, table));
  std::vector<double> times;
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    times.push_back(seconds(table[i].first_token_at - table[i].arrived_at));
  }
  return batch_means(times);
}

}  // namespace

TEST_CASE("two stages of D/2 answer after D + R·D²/(4·(2 − R·D)): DistServe's form, through the engine") {
  for (const double rate : {1.0, 2.4, 3.2}) check_mean(ttft({0.25, 0.25}, rate, 5), two_stage_ttft(rate, 0.5));
}

TEST_CASE("two tensor ranks of speed-up K answer after D/K + R·D²/(2K·(K − R·D))") {
  for (const double rate : {1.0, 2.4}) check_mean(ttft({0.5 / 1.8}, rate, 6), tensor_parallel_ttft(rate, 0.5, 1.8));
}

// A full pipeline ends a step each time a stage is through: n steps over s stages take n + s − 1 stage times, and the
// ways between them, which run beside, delay the first.
TEST_CASE("equal stages under ample load end one step each stage time") {
  for (const std::size_t count : {1UL, 2UL, 3UL, 8UL}) {
    CAPTURE(count);
    WorkloadSpec spec;
    spec.arrivals = AllAtOnce{};
    spec.lengths = DrawnLengths{{FixedLength{10}}, {FixedLength{1}}};
    spec.requests = 1000;
    RequestTable table;
    ConstantStages stages(std::vector<double>(count, 0.01), Duration{0});
    const RunResult result = serve(stages, spec, table);
    const double expected = 0.01 * static_cast<double>(1000 + count - 1);
    CHECK(seconds(result.ended_at - kStart) == doctest::Approx(expected).epsilon(1e-12).scale(0));
    if (count > 1) CHECK(seconds(result.counters.worked) == doctest::Approx(10.0 * static_cast<double>(count)));
  }
}

// The engine checks blocks, tokens, requests, Little's law and the causes of time by itself after every step.
TEST_CASE("every scheduler on every pipeline brings every request to its end, whatever memory, handoff and host") {
  rc::check([] {
    const std::vector<SchedulerOptions> schedulers = small_schedulers();
    RandomStream random = stream(*rc::gen::inRange<std::uint64_t>(0, 1'000'000), "pipelines");
    LawCase what{schedulers[static_cast<std::size_t>(draw(random, 0, std::ssize(schedulers) - 1))],
                 random_arrivals(random, 30, 100, 50, 12'000'000), draw(random, 12, 60)};
    if (draw(random, 0, 1) == 0) what.block_size = 4, what.blocks *= 4;
    what.stages = static_cast<std::size_t>(draw(random, 2, 4));
    what.handoff = Duration{draw(random, 0, 1) * draw(random, 0, 5'000'000)};
    what.host = Duration{draw(random, 0, 1) * draw(random, 0, 2'000'000)};
    what.name_blocks = draw(random, 0, 1) == 1;
    LawRun out;
    run(what, out);
    for (std::uint32_t i = 0; i < out.requests.size(); ++i) {
      RC_ASSERT(out.requests[i].outcome == Outcome::kCompleted);
      RC_ASSERT(static_cast<std::int64_t>(out.watcher.tokens_at.at(i).size()) == what.arrivals[i].output.count());
      for (const Duration spent : out.requests[i].spent) RC_ASSERT(spent >= Duration{0});
    }
    RC_ASSERT(out.result.counters.worked <= static_cast<std::int64_t>(what.stages) * out.result.counters.busy);
  });
}

// At any time as many steps run as there are stages at most, and they end in the order in which they start.
TEST_CASE("no more steps run than there are stages, and they end in order") {
  RandomStream random = stream(13, "in flight");
  for (const SchedulerOptions& options : small_schedulers()) {
    LawCase what{options, random_arrivals(random, 60, 100, 50, 12'000'000), 60};
    what.stages = 3;
    LawRun out;
    run(what, out);
    const auto& steps = out.watcher.steps;
    SimTime before = kStart;
    for (const auto& [number, step] : steps) {
      CHECK(step.ended_at > before);
      before = step.ended_at;
      const auto third = steps.find(number + 3);
      if (third != steps.end()) CHECK(third->second.started_at >= step.ended_at);
    }
  }
}
