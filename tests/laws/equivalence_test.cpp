// Schedulers and engine paths that must agree with each other.
#include <doctest/doctest.h>
#include <thread>

#include "sim/summary.hpp"
#include "tests/laws/law_run.hpp"

using namespace servecast;
using namespace servecast::test;

namespace {

constexpr std::int64_t kAmple = 100'000;

std::vector<SimTime> first_tokens(const LawRun& out) {
  std::vector<SimTime> at;
  for (std::uint32_t i = 0; i < out.requests.size(); ++i) at.push_back(out.requests[i].first_token_at);
  return at;
}

bool same(const LawRun& a, const LawRun& b) {
  if (a.result.counters.digest != b.result.counters.digest || a.requests.size() != b.requests.size()) return false;
  for (std::uint32_t i = 0; i < a.requests.size(); ++i) {
    const Request &x = a.requests[i], &y = b.requests[i];
    if (x.first_token_at != y.first_token_at || x.last_token_at != y.last_token_at || x.max_itl != y.max_itl ||
        x.spent != y.spent || x.preemptions != y.preemptions) {
      return false;
    }
  }
  const Counters &c = a.result.counters, &d = b.result.counters;
  return c.kv_block_ns == d.kv_block_ns && c.kv_token_ns == d.kv_token_ns && c.running_ns == d.running_ns &&
         c.decode_tokens == d.decode_tokens && c.busy == d.busy && c.host == d.host && c.steps == d.steps &&
         a.result.gaps.total() == b.result.gaps.total() && a.result.gaps.maximum() == b.result.gaps.maximum() &&
         a.result.gaps.mean_seconds() == b.result.gaps.mean_seconds() &&
         a.result.replicas[0].timeline == b.result.replicas[0].timeline;
}

}  // namespace

TEST_CASE("Sarathi without a budget is Orca, on ample memory") {
  RandomStream random = stream(3, "equivalence");
  for (int i = 0; i < 60; ++i) {
    LawCase what{SarathiOptions{Tokens{1'000'000}, 20, 0.01, true}, random_arrivals(random, 50, 200, 60, 20'000'000),
                 kAmple};
    LawRun sarathi, orca;
    run(what, sarathi);
    what.options = OrcaOptions{.max_batch = 20};
    run(what, orca);
    CHECK(sarathi.watcher.tokens_at == orca.watcher.tokens_at);
  }
}

TEST_CASE("Sarathi's chunk and vLLM V1's budget are the same thing, on ample memory") {
  RandomStream random = stream(4, "equivalence");
  for (int i = 0; i < 60; ++i) {
    LawCase what{SarathiOptions{Tokens{48}, 20, 0.01, true}, random_arrivals(random, 50, 200, 60, 20'000'000), kAmple};
    LawRun sarathi, v1;
    run(what, sarathi);
    VllmV1Options options;
    options.max_num_batched_tokens = Tokens{48};
    options.max_num_seqs = 20;
    what.options = options;
    run(what, v1);
    CHECK(sarathi.watcher.tokens_at == v1.watcher.tokens_at);
  }
}

TEST_CASE("first come, first served: first tokens come in order of arrival when nobody is preempted") {
  RandomStream random = stream(5, "order");
  for (const SchedulerOptions& options : small_schedulers()) {
    LawCase what{options, random_arrivals(random, 80, 100, 50, 12'000'000), kAmple};
    LawRun out;
    run(what, out);
    REQUIRE(out.result.preemptions == 0);
    const std::vector<SimTime> at = first_tokens(out);
    CHECK(std::is_sorted(at.begin(), at.end()));
  }
}

TEST_CASE("nobody is preempted where every request's blocks fit at once, with one to spare") {
  RandomStream random = stream(6, "enough blocks");
  for (const SchedulerOptions& options : small_schedulers()) {
    for (int i = 0; i < 20; ++i) {
      LawCase what{options, random_arrivals(random, 12, 100, 50, 3'000'000), 1};
      for (const Arrival& a : what.arrivals) what.blocks += (a.prompt.count() + a.output.count() - 1 + 15) / 16;
      const double watermark = 0.01 * static_cast<double>(what.blocks);
      REQUIRE(watermark < 1.5);
      LawRun out;
      run(what, out);
      CHECK(out.result.preemptions == 0);
    }
  }
}

TEST_CASE("a decode stretch gives what step by step gives, to the last bit") {
  RandomStream random = stream(7, "stretch");
  for (const SchedulerOptions& options : small_schedulers()) {
    for (int i = 0; i < 12; ++i) {
      LawCase what{options, random_arrivals(random, 60, 60, 300, i % 2 == 0 ? 12'000'000 : 400'000'000),
                   draw(random, 30, 200)};
      what.sample_every = Duration{3'000'000};
      LawRun stepwise, stretched;
      run(what, stepwise, true);
      run(what, stretched, false);
      CAPTURE(scheduler_name(options));
      CHECK(same(stepwise, stretched));
    }
  }
}

TEST_CASE("one stage as a pipeline gives what a replica without one gives, to the last bit") {
  RandomStream random = stream(12, "one stage");
  for (const SchedulerOptions& options : small_schedulers()) {
    for (int i = 0; i < 12; ++i) {
      LawCase what{options, random_arrivals(random, 60, 60, 300, i % 2 == 0 ? 12'000'000 : 400'000'000),
                   draw(random, 30, 200)};
      what.sample_every = Duration{3'000'000};
      LawRun plain, pipelined;
      run(what, plain, false);
      what.as_pipeline = true;
      run(what, pipelined, false);
      CAPTURE(scheduler_name(options));
      CHECK(same(plain, pipelined));
    }
  }
}

// Ends bring arrivals, at once or later: into the middle of what would be a stretch.
TEST_CASE("a decode stretch gives what step by step gives when clients wait for their answers") {
  class Loop final : public ArrivalSource {
   public:
    explicit Loop(std::uint64_t seed) : random_(stream(seed, "loop")) {
      for (int i = 0; i < 6; ++i) times_.push_back(kStart);
    }
    std::optional<Arrival> next() override {
      if (times_.empty() || sent_ == 80) return std::nullopt;
      const SimTime at = times_.front();
      times_.erase(times_.begin());
      ++sent_;
      const Tokens output{draw(random_, 1, 200)};
      return Arrival{at, Tokens{draw(random_, 1, 60)}, output, output};
    }
    [[nodiscard]] bool closed_loop() const override { return true; }
    void finished(RequestId, SimTime at) override {
      times_.push_back(at + Duration{draw(random_, 0, 1) * draw(random_, 1, 40'000'000)});
    }

   private:
    RandomStream random_;
    std::vector<SimTime> times_;
    int sent_ = 0;
  };
  for (const SchedulerOptions& options : small_schedulers()) {
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      const LawCase what{options, {}, 30};
      LawRun stepwise, stretched;
      for (LawRun* out : {&stepwise, &stretched}) {
        Loop source(seed);
        LinearSteps model;
        PredictedExecutor executor(model);
        const auto scheduler = make_scheduler(options, out->requests);
        RunObserver* observer = out == &stepwise ? &out->watcher : nullptr;
        out->result = simulate(config_of(what), out->requests, source, *scheduler, executor, observer);
      }
      CAPTURE(scheduler_name(options));
      CHECK(stepwise.requests.size() == 80);
      CHECK(same(stepwise, stretched));
    }
  }
}

TEST_CASE("blocks by name give what blocks by count give, and after every step as many are free") {
  RandomStream random = stream(10, "names");
  for (const SchedulerOptions& options : small_schedulers()) {
    for (int i = 0; i < 6; ++i) {
      LawCase what{options, random_arrivals(random, 60, 100, 50, 12'000'000), draw(random, 12, 60)};
      LawRun counted, named;
      run(what, counted, false);
      what.name_blocks = true;
      run(what, named, false);
      CAPTURE(scheduler_name(options));
      CHECK(same(counted, named));
    }
  }
}

TEST_CASE("the same seed gives the same run, alone or beside another thread") {
  RandomStream random = stream(8, "threads");
  const LawCase what{small_schedulers()[7], random_arrivals(random, 400, 100, 80, 12'000'000), 40};
  LawRun alone, first, second;
  run(what, alone, false);
  std::thread one([&] { run(what, first, false); });
  std::thread two([&] { run(what, second, false); });
  one.join();
  two.join();
  CHECK(same(alone, first));
  CHECK(same(alone, second));
}

TEST_CASE("the virtual clock does not hear the host's: a slow predictor predicts the same") {
  class Slow final : public StepCostModel {
   public:
    StepCost cost(const StepShape& shape) override {
      std::this_thread::sleep_for(std::chrono::microseconds{200});
      return LinearSteps{}.cost(shape);
    }
  };
  RandomStream random = stream(9, "clock");
  const LawCase what{VllmV0Options{}, random_arrivals(random, 20, 100, 20, 12'000'000), 200};
  LawRun quick, slow;
  run(what, quick, false);
  GivenArrivals source(what.arrivals);
  Slow model;
  PredictedExecutor executor(model);
  const auto scheduler = make_scheduler(what.options, slow.requests);
  slow.result = simulate(config_of(what), slow.requests, source, *scheduler, executor);
  CHECK(same(quick, slow));
}
