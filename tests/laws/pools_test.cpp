// Laws of prefill and decode on replicas of their own, over links between pairs and over those of a topology. The
// engine checks blocks and tokens of every replica after each step, requests, transferred bytes, Little's law and the
// causes of time by itself; a breach throws.
#include <algorithm>
#include <doctest/doctest.h>

#include "tests/laws/pool_case.hpp"
#include "tests/support/causes.hpp"

using namespace servecast;
using namespace servecast::test;

namespace {

template <class F>
void for_random_pools(const char* purpose, F check) {
  for (const SchedulerOptions& options : pooled()) {
    RandomStream random = stream(41, purpose);
    for (int i = 0; i < 8; ++i) {
      CAPTURE(scheduler_name(options));
      CAPTURE(i);
      PoolCase what{options, static_cast<std::size_t>(draw(random, 1, 3)), static_cast<std::size_t>(draw(random, 1, 3)),
                    random_arrivals(random, 120, 100, 50, 5'000'000)};
      what.prefill_blocks = draw(random, 12, 40);
      what.decode_blocks = draw(random, 24, 70);  // a request takes 10 at most, and is counted twice
      what.stages = static_cast<std::size_t>(1 + i / 3);
      what.pull.overlapped = i % 2 == 1;
      what.pull.waiting_share = draw(random, 0, 1) == 0 ? 0.05 : 0.5;
      what.over_topology = i >= 4;
      what.pull.idle_poll = Duration{draw(random, 0, 1) * 3'000'000};
      check(what);
    }
  }
}

}  // namespace

TEST_CASE("every request is prefilled at one replica, decoded at another, and its time is accounted for") {
  std::int64_t preemptions = 0;
  for_random_pools("pools", [&](const PoolCase& what) {
    ClusterRun out;
    run(what, out);
    preemptions += out.result.preemptions;
    std::int64_t longer = 0, gaps = 0;
    for (std::uint32_t r = 0; r < out.requests.size(); ++r) {
      const Request& request = out.requests[r];
      REQUIRE(request.outcome == Outcome::kCompleted);
      const std::vector<SimTime> at = out.tokens_of(r);
      CHECK(static_cast<std::int64_t>(at.size()) == what.arrivals[r].output.count());
      CHECK(std::is_sorted(at.begin(), at.end()));
      CHECK(request.first_token_at == at.front());
      CHECK(request.last_token_at == at.back());
      Duration longest{0};
      for (std::size_t k = 1; k < at.size(); ++k) longest = std::max(longest, at[k] - at[k - 1]);
      CHECK(request.max_itl == longest);
      gaps += static_cast<std::int64_t>(at.size()) - 1;
      CHECK(sum_of_causes(request) == request.last_token_at - request.arrived_at);
      for (const Duration spent : request.spent) CHECK(spent >= Duration{0});
      CHECK((index_of(request.replica) >= what.prefills) == (at.size() > 1));
      if (at.size() > 1) {
        ++longer;
        CHECK(request.time_in(Cause::kTransfer) >= Duration{50'000});
      }
    }
    CHECK(out.result.moved.transfers == longer);
    CHECK(out.result.gaps.total() == gaps);
  });
  CHECK(preemptions > 0);
}

TEST_CASE("the bytes that are moved are those of the prompts' blocks, once") {
  for_random_pools("bytes", [](const PoolCase& what) {
    ClusterRun out;
    run(what, out, false);
    const bool slots = replica_needs(what.options).slots;
    std::int64_t bytes = 0;
    for (const Arrival& arrival : what.arrivals) {
      if (arrival.output == Tokens{1}) continue;
      bytes += blocks_for(arrival.prompt, Tokens{slots ? 1 : 16}).count() * (slots ? kBlockBytes / 16 : kBlockBytes);
    }
    CHECK(out.result.moved.arrived == Bytes{bytes});
  });
}

TEST_CASE("with ample memory TTFT depends neither on output lengths nor on the replicas that decode") {
  for (const SchedulerOptions& options : pooled()) {
    CAPTURE(scheduler_name(options));
    RandomStream random = stream(42, "ttft");
    PoolCase what{options, 2, 1, random_arrivals(random, 150, 100, 50, 2'000'000)};
    what.prefill_blocks = what.decode_blocks = 100'000;
    ClusterRun base, others;
    run(what, base, false);
    for (Arrival& arrival : what.arrivals) arrival.output = arrival.max_tokens = Tokens{draw(random, 2, 90)};
    what.decodes = 5;
    what.bytes_per_second = 1e8;
    what.over_topology = true;
    run(what, others, false);
    for (std::uint32_t r = 0; r < base.requests.size(); ++r) {
      CHECK(base.requests[r].first_token_at == others.requests[r].first_token_at);
    }
  }
}

TEST_CASE("pools: the same seed gives the same run, watched or not, and a horizon cuts it off cleanly") {
  for_random_pools("again", [](const PoolCase& what) {
    CutRun out;
    run_again_and_cut(what, out);
    CHECK(out.cut.result.stopped_at_horizon);
    for (std::uint32_t r = 0; r < out.cut.requests.size(); ++r) {
      const Request& request = out.cut.requests[r];
      const SimTime end = request.outcome == Outcome::kOpen ? out.horizon : request.last_token_at;
      CHECK(sum_of_causes(request) == end - request.arrived_at);
      CHECK(request.arrived_at == out.whole.requests[r].arrived_at);
      if (request.outcome == Outcome::kCompleted) CHECK(request.spent == out.whole.requests[r].spent);
    }
  });
}

TEST_CASE("one pool moves no KV") {
  RandomStream random = stream(43, "one");
  ClusterCase what{{VllmV1Options{}, VllmV1Options{}}, {}, random_arrivals(random, 50, 100, 50, 2'000'000), 60};
  ClusterRun out;
  run(what, out, false);
  CHECK(out.result.moved.transfers == 0);
  CHECK(out.result.moved.started == Bytes{0});
}
