// Laws that hold for every scheduler on every trace. The engine checks blocks, tokens, requests, Little's law
// and the causes of time by itself in each of these runs (after every step, here); a breach throws.
#include <algorithm>
#include <doctest/doctest.h>

#include "sim/summary.hpp"
#include "tests/laws/law_run.hpp"
#include "tests/support/causes.hpp"

using namespace servecast;
using namespace servecast::test;

namespace {

struct Way {
  bool async;
  std::size_t stages;
};

template <class F>
void for_random_runs(const char* purpose, int runs, F check) {
  for (const auto [async, stages] : {Way{false, 1}, Way{true, 1}, Way{false, 2}, Way{false, 4}}) {
    for (const SchedulerOptions& options : small_schedulers()) {
      RandomStream random = stream(11, purpose);
      for (int i = 0; i < runs; ++i) {
        LawCase what{options, random_arrivals(random, 60, 100, 50, 12'000'000), draw(random, 12, 60), 16, async};
        what.stages = stages;
        if (draw(random, 0, 1) == 0) what.block_size = 4, what.blocks *= 4;
        CAPTURE(scheduler_name(options));
        CAPTURE(async);
        CAPTURE(stages);
        CAPTURE(i);
        LawRun out;
        run(what, out);
        check(what, out);
      }
    }
  }
}

}  // namespace

TEST_CASE("every request emits exactly its tokens, whatever preempts it") {
  for_random_runs("tokens", 8, [](const LawCase& what, const LawRun& out) {
    REQUIRE(out.requests.size() == what.arrivals.size());
    std::int64_t tokens = 0;
    for (std::uint32_t i = 0; i < out.requests.size(); ++i) {
      CHECK(out.requests[i].outcome == Outcome::kCompleted);
      CHECK(static_cast<std::int64_t>(out.watcher.tokens_at.at(i).size()) == what.arrivals[i].output.count());
      tokens += what.arrivals[i].output.count();
    }
    CHECK(out.result.tokens_emitted == tokens);
    CHECK(out.watcher.wrong_contexts == 0);
  });
}

TEST_CASE("E2E is TTFT plus all inter-token gaps, exactly, and the longest gap is the longest") {
  for_random_runs("gaps", 8, [](const LawCase&, const LawRun& out) {
    std::int64_t gaps = 0;
    for (std::uint32_t i = 0; i < out.requests.size(); ++i) {
      const Request& request = out.requests[i];
      const std::vector<SimTime>& at = out.watcher.tokens_at.at(i);
      Duration longest{0}, sum{0};
      for (std::size_t k = 1; k < at.size(); ++k) {
        longest = std::max(longest, at[k] - at[k - 1]);
        sum += at[k] - at[k - 1];
      }
      if (!request.streamed) {
        CHECK(request.first_token_at == request.last_token_at);
        CHECK(request.max_itl == Duration{0});
        continue;
      }
      gaps += static_cast<std::int64_t>(at.size()) - 1;
      CHECK(request.first_token_at == at.front());
      CHECK(request.last_token_at == at.back());
      CHECK((request.first_token_at - request.arrived_at) + sum == request.last_token_at - request.arrived_at);
      CHECK(request.max_itl == longest);
    }
    CHECK(out.result.gaps.total() == gaps);  // one gap between two tokens: N − 1 of N
  });
}

TEST_CASE("the causes of time add up to the latency, to the nanosecond, and none is negative") {
  for_random_runs("causes", 8, [](const LawCase&, const LawRun& out) {
    for (std::uint32_t i = 0; i < out.requests.size(); ++i) {
      const Request& request = out.requests[i];
      CHECK(sum_of_causes(request) == request.last_token_at - request.arrived_at);
      for (const Duration spent : request.spent) CHECK(spent >= Duration{0});
      if (request.preemptions == 0) {
        CHECK(request.time_in(Cause::kPreempted) == Duration{0});
        CHECK(request.time_in(Cause::kRecompute) == Duration{0});
      }
    }
  });
}

TEST_CASE("no step runs more tokens than its budget") {
  for_random_runs("budget", 6, [](const LawCase& what, const LawRun& out) {
    for (const auto& [number, step] : out.watcher.steps) {
      std::int64_t prefill = 0;
      for (const PrefillChunk& chunk : step.prefills) prefill += chunk.tokens.count();
      if (const auto* v1 = std::get_if<VllmV1Options>(&what.options)) {
        CHECK(prefill + step.decodes <= v1->max_num_batched_tokens.count());
      } else if (const auto* v0 = std::get_if<VllmV0Options>(&what.options)) {
        CHECK((prefill <= v0->max_num_batched_tokens->count() || step.prefills.size() == 1));
        CHECK((prefill == 0 || step.decodes == 0));
      } else if (const auto* sarathi = std::get_if<SarathiOptions>(&what.options)) {
        CHECK(prefill <= std::max<std::int64_t>(0, sarathi->token_budget.count() - step.decodes));
      }
    }
  });
}

TEST_CASE("static batching and Orca never preempt") {
  for_random_runs("preempt", 6, [](const LawCase& what, const LawRun& out) {
    const std::string_view policy = scheduler_name(what.options);
    if (policy == "static" || policy == "orca") CHECK(out.result.preemptions == 0);
  });
}

TEST_CASE("tokens computed are those required plus those recomputed") {
  for_random_runs("computed", 6, [](const LawCase& what, const LawRun& out) {
    std::int64_t prompts = 0;
    for (const Arrival& arrival : what.arrivals) prompts += arrival.prompt.count();
    const Counters& counters = out.result.counters;
    CHECK(counters.prefill_tokens - counters.recomputed_tokens <= prompts);
    if (out.result.preemptions == 0) CHECK(counters.prefill_tokens == prompts);
    CHECK(counters.prefill_tokens >= prompts);
  });
}

TEST_CASE("a replica is never idle while somebody could run") {
  for_random_runs("idle", 6, [](const LawCase& what, const LawRun& out) {
    const auto* batching = std::get_if<StaticOptions>(&what.options);
    if (batching != nullptr && batching->wait_for_batch > Duration{0}) return;
    SimTime free_from = kStart;
    for (const auto& [number, step] : out.watcher.steps) {
      if (step.started_at > free_from) {  // an idle gap: whoever had arrived before had ended
        for (std::uint32_t i = 0; i < out.requests.size(); ++i) {
          const Request& request = out.requests[i];
          if (request.arrived_at < step.started_at) CHECK(request.last_token_at <= free_from);
        }
      }
      free_from = step.ended_at;
    }
  });
}
