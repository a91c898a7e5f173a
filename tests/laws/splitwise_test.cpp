// Laws of Splitwise under random workloads. The engine checks blocks and tokens of every machine after each step,
// requests, transferred bytes, Little's law and the causes of time by itself; a breach throws.
#include <algorithm>
#include <doctest/doctest.h>

#include "tests/laws/cluster_run.hpp"
#include "tests/support/causes.hpp"

using namespace servecast;
using namespace servecast::test;

namespace {

struct SplitCase {
  SplitwiseOptions options;
  std::size_t prompts = 1, tokens = 1;  // machines
  std::vector<Arrival> arrivals;
  std::int64_t blocks = 100;  // of 16 tokens, each machine
  double bytes_per_second = 1e9;
  std::int64_t layers = 1;
  std::optional<SimTime> horizon = {};
};

constexpr std::int64_t kBlockBytes = 1'000'000;

void run(const SplitCase& what, ClusterRun& out, bool watched = true) {
  using Pool = SplitwiseDispatcher::Pool;
  const std::size_t count = what.prompts + what.tokens;
  std::vector<LinearSteps> models(count);
  std::vector<std::unique_ptr<PredictedExecutor>> executors;
  std::vector<std::unique_ptr<Scheduler>> schedulers;
  std::vector<ReplicaSpec> specs;
  std::vector<SplitwiseDispatcher::Machine> machines;
  out.watchers.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    LawCase alone;
    alone.options = what.options;
    alone.blocks = what.blocks;
    ReplicaConfig config = config_of(alone).replica;
    config.pull.pushed = config.tells_prefills = true;
    config.block_bytes = Bytes{kBlockBytes};
    executors.push_back(std::make_unique<PredictedExecutor>(models[i]));
    schedulers.push_back(make_scheduler(what.options, out.requests));
    specs.push_back({config, schedulers.back().get(), executors.back().get(), watched ? &out.watchers[i] : nullptr});
    machines.push_back({i < what.prompts ? Pool::kPrompt : Pool::kToken, Tokens{what.blocks * 16}});
  }
  SplitwiseDispatcher dispatcher(what.options, machines);
  DirectLinks links(what.bytes_per_second, Duration{50'000});
  Placing placing{dispatcher, links, what.layers};
  const auto router = make_router({}, 1);  // not asked
  ClusterConfig config;
  config.horizon = what.horizon;
  config.placing = &placing;
  GivenArrivals source(what.arrivals);
  out.result = simulate(config, specs, *router, out.requests, source);
}

template <class F>
void for_random_splits(const char* purpose, F check) {
  RandomStream random = stream(71, purpose);
  for (int i = 0; i < 60; ++i) {
    CAPTURE(i);
    SplitCase what;
    what.options.max_batch_tokens = Tokens{draw(random, 20, 200)};
    what.options.max_batch = draw(random, 2, 30);
    what.options.max_passed_over = draw(random, 1, 6);
    what.options.max_pending_tokens = Tokens{draw(random, 50, 1000)};
    what.prompts = static_cast<std::size_t>(draw(random, 1, 4));
    what.tokens = static_cast<std::size_t>(draw(random, 1, 4));
    what.arrivals = random_arrivals(random, 150, 100, 50, draw(random, 0, 1) == 0 ? 1'000'000 : 5'000'000);
    what.blocks = draw(random, 40, 200);
    what.bytes_per_second = draw(random, 0, 1) == 0 ? 1e9 : 1e8;
    what.layers = draw(random, 0, 1) == 0 ? 1 : 32;
    check(what);
  }
}

}  // namespace

TEST_CASE("splitwise serves every request, each token once, and accounts for all its time") {
  std::int64_t moved = 0, stayed = 0, left_out = 0, helped = 0;
  for_random_splits("splits", [&](const SplitCase& what) {
    ClusterRun out;
    run(what, out);
    std::int64_t gaps = 0;
    for (std::uint32_t r = 0; r < out.requests.size(); ++r) {
      const Request& request = out.requests[r];
      REQUIRE(request.outcome == Outcome::kCompleted);
      std::vector<SimTime> at = out.tokens_of(r);
      std::sort(at.begin(), at.end());
      CHECK(static_cast<std::int64_t>(at.size()) == what.arrivals[r].output.count());
      CHECK(request.first_token_at == at.front());
      CHECK(request.last_token_at == at.back());
      CHECK(sum_of_causes(request) == request.last_token_at - request.arrived_at);
      for (const Duration spent : request.spent) CHECK(spent >= Duration{0});
      CHECK(request.preemptions == 0);
      gaps += static_cast<std::int64_t>(at.size()) - 1;
      (request.time_in(Cause::kTransfer) > Duration{0} ? moved : stayed) += 1;
      if (request.time_in(Cause::kStalled) + request.time_in(Cause::kIdle) > Duration{0}) ++left_out;
      const bool in_prompt_pool = index_of(request.replica) < what.prompts;
      if (request.output > 1 && in_prompt_pool) ++helped;
    }
    CHECK(out.result.gaps.total() == gaps);
    CHECK(out.result.moved.started == out.result.moved.arrived);
  });
  CHECK(moved > 1000);
  CHECK(stayed > 1000);
  CHECK(left_out > 1000);
  CHECK(helped > 100);
}

TEST_CASE("splitwise: steps keep their limits, and prompts are whole") {
  for_random_splits("limits", [](const SplitCase& what) {
    ClusterRun out;
    run(what, out);
    for (const Watcher& watcher : out.watchers) {
      for (const auto& [number, step] : watcher.steps) {
        std::int64_t tokens = step.decodes;
        for (std::size_t i = 0; i < step.prefills.size(); ++i) {
          tokens += step.prefills[i].tokens.count();
          CHECK(step.chunks[i].last);
          CHECK(step.prefills[i].context == Tokens{0});
        }
        const std::int64_t parts = step.decodes + static_cast<std::int64_t>(step.prefills.size());
        CHECK(parts <= what.options.max_batch);
        CHECK((tokens <= what.options.max_batch_tokens.count() || parts == 1));
      }
      CHECK(watcher.wrong_contexts == 0);
    }
  });
}

TEST_CASE("splitwise: the same seed gives the same run, watched or not, and a horizon cuts it off cleanly") {
  for_random_splits("again", [](const SplitCase& what) {
    CutRun out;
    run_again_and_cut(what, out);
    for (std::uint32_t r = 0; r < out.cut.requests.size(); ++r) {
      const Request& request = out.cut.requests[r];
      const SimTime end = request.outcome == Outcome::kOpen ? out.horizon : request.last_token_at;
      CHECK(sum_of_causes(request) == end - request.arrived_at);
      if (request.outcome == Outcome::kCompleted) CHECK(request.spent == out.whole.requests[r].spent);
    }
  });
}

TEST_CASE("splitwise on one machine is that machine's mixed batching, and moves nothing") {
  for_random_splits("one", [](SplitCase what) {
    what.prompts = 1;
    what.tokens = 0;
    ClusterRun placed;
    run(what, placed, false);
    LawCase alone;
    alone.options = what.options;
    alone.blocks = what.blocks;
    alone.arrivals = what.arrivals;
    LawRun mixed;
    run(alone, mixed, false);
    CHECK(placed.result.counters.digest == mixed.result.counters.digest);
    CHECK(placed.result.moved.transfers == 0);
    for (std::uint32_t r = 0; r < placed.requests.size(); ++r) {
      CHECK(placed.requests[r].last_token_at == mixed.requests[r].last_token_at);
    }
  });
}

TEST_CASE("layer by layer, KV is never later than all at once, and its first token is as early") {
  RandomStream random = stream(72, "layers");
  SplitCase what;
  what.prompts = what.tokens = 2;
  what.arrivals = random_arrivals(random, 60, 100, 2, 40'000'000);  // far apart: who shares a step does not change
  what.blocks = 100'000;
  what.bytes_per_second = 1e9;
  ClusterRun serial, layered;
  run(what, serial, false);
  what.layers = 40;
  run(what, layered, false);
  Duration sooner{0};
  for (std::uint32_t r = 0; r < serial.requests.size(); ++r) {
    CHECK(serial.requests[r].first_token_at == layered.requests[r].first_token_at);
    CHECK(layered.requests[r].time_in(Cause::kTransfer) <= serial.requests[r].time_in(Cause::kTransfer));
    sooner += serial.requests[r].time_in(Cause::kTransfer) - layered.requests[r].time_in(Cause::kTransfer);
  }
  CHECK(sooner > Duration{0});
}
