// Failures worked by hand: two replicas taken in turn, each step lasting one second.
#include <algorithm>
#include <doctest/doctest.h>
#include <memory>

#include "policies/routing/registry.hpp"
#include "policies/scaling/target_tracking.hpp"
#include "sim/error.hpp"
#include "tests/support/unit_run.hpp"

using namespace servecast;
using namespace servecast::test;

namespace {

using Times = std::vector<std::vector<std::int64_t>>;

struct Fleet {
  RequestTable table;
  RunResult result;
  Times emitted_at;  // by request, in order of time within each replica

  [[nodiscard]] std::string causes(std::uint32_t request) const {
    std::string text;
    for (std::size_t c = 0; c < kCauses; ++c) {
      const double spent = seconds(table[request].spent[c]);
      if (spent > 0) {
        text += (text.empty() ? "" : " ") + (name(static_cast<Cause>(c)) + ("=" + std::to_string(spent).substr(0, 3)));
      }
    }
    return text;
  }
};

void serve(const std::vector<Spec::Req>& requests, std::size_t replicas, const Membership& membership, Fleet& out) {
  EqualSteps model(1);
  PredictedExecutor executor(model);
  std::vector<std::unique_ptr<Scheduler>> schedulers;
  std::vector<Log> logs(replicas, Log(requests));
  std::vector<ReplicaSpec> specs;
  for (Log& log : logs) {
    schedulers.push_back(make_scheduler(VllmV1Options{}, out.table));
    ReplicaConfig config;
    config.usable_blocks = Blocks{100};
    config.block_size = Tokens{4};
    config.check_every = 1;
    specs.push_back({config, schedulers.back().get(), &executor, &log});
  }
  const auto router = make_router({}, 1);
  ClusterConfig config;
  config.membership = &membership;
  ListSource source(requests);
  out.result = simulate(config, specs, *router, out.table, source);
  out.emitted_at.resize(requests.size());
  for (const Log& log : logs) {
    for (std::size_t r = 0; r < requests.size(); ++r) {
      out.emitted_at[r].insert(out.emitted_at[r].end(), log.emitted_at[r].begin(), log.emitted_at[r].end());
    }
  }
}

SimTime at_tenths(std::int64_t tenths) { return SimTime{std::chrono::milliseconds{100 * tenths}}; }

}  // namespace

// A at replica 0 and B at replica 1. Replica 0 fails at 2.5: of A's tokens 1 and 2 are out, 3 is not. A second later A
// comes to replica 1.
TEST_CASE("a failure throws away what runs; what was delivered may be kept and prefilled, or all starts anew") {
  Membership membership;
  membership.changes = {
      {at_tenths(25), ChangeKind::kFails, ReplicaId{0}, Duration{0}, {.delay = std::chrono::milliseconds{1500}}}};

  Fleet anew;
  serve({{"A", 0, 4, 5}, {"B", 0, 4, 2}}, 2, membership, anew);
  CHECK(anew.emitted_at == Times{{1, 2, 5, 6, 7, 8, 9}, {1, 2}});
  CHECK(anew.table[0].first_token_at == at_second(5));
  CHECK(anew.causes(0) == "prefill=1.0 decode=5.5 preempted=1.5 recompute=1.0");
  CHECK(anew.result.replicas[0].lost == 1);
  CHECK(anew.result.replicas[0].up == std::chrono::milliseconds{2500});
  CHECK(anew.result.replicas[1].up == std::chrono::seconds{9});

  membership.changes[0].retry.keeps_tokens = true;
  Fleet kept;
  serve({{"A", 0, 4, 5}, {"B", 0, 4, 2}}, 2, membership, kept);
  CHECK(kept.emitted_at == Times{{1, 2, 5, 6, 7}, {1, 2}});
  CHECK(kept.table[0].first_token_at == at_second(1));
  CHECK(kept.table[0].max_itl == std::chrono::seconds{3});
  CHECK(kept.causes(0) == "prefill=1.0 decode=3.5 preempted=1.5 recompute=1.0");
}

// Both fail at 1; replica 1 is back at 4. What comes meanwhile, and what was lost, waits for it.
TEST_CASE("where no replica is left, requests wait for one") {
  Membership membership;
  membership.changes = {{at_second(1), ChangeKind::kFails, ReplicaId{0}},
                        {at_second(1), ChangeKind::kFails, ReplicaId{1}},
                        {at_second(4), ChangeKind::kJoins, ReplicaId{1}}};
  Fleet out;
  serve({{"A", 0, 4, 3}, {"B", 0, 4, 1}, {"C", 2, 4, 1}}, 2, membership, out);
  CHECK(out.emitted_at == Times{{1, 5, 6, 7}, {1}, {5}});
  CHECK(out.causes(0) == "wait_slot=3.0 prefill=1.0 decode=2.0 recompute=1.0");
  CHECK(out.causes(2) == "wait_slot=2.0 prefill=1.0");

  membership.changes.pop_back();
  Fleet never;
  CHECK_THROWS_WITH_AS(serve({{"A", 0, 4, 3}}, 2, membership, never),
                       doctest::Contains("1 requests wait for a replica"), StalledError);
}

TEST_CASE("what would fail after the last end does not make the run longer") {
  Membership membership;
  membership.changes = {{at_second(50), ChangeKind::kFails, ReplicaId{0}}};
  Fleet out;
  serve({{"A", 0, 4, 3}}, 2, membership, out);
  CHECK(out.result.ended_at == at_second(3));
  CHECK(out.result.replicas[0].up == std::chrono::seconds{3});
  CHECK(out.result.replicas[0].lost == 0);
}

// Looks every 4 s; a replica takes 3 s to start. One request after the other keeps replica 0 busy: at 4 it was busy all
// the time, ceil(1 · 1 / 0.4) = 3 are wanted. Both new ones take requests from 7 on, those of 7 too.
TEST_CASE("an autoscaler orders replicas by the rule, and they come when they have started") {
  TargetTracking autoscaler({.target = 0.4, .least = 1, .most = 3});
  Membership membership;
  membership.autoscaler = &autoscaler;
  membership.look_every = std::chrono::seconds{4};
  membership.provisioning = std::chrono::seconds{3};
  membership.not_at_first = {ReplicaId{1}, ReplicaId{2}, ReplicaId{3}};
  Fleet out;
  serve({{"A", 0, 4, 4}, {"B", 3, 4, 8}, {"C", 7, 4, 1}, {"D", 7, 4, 1}}, 4, membership, out);
  CHECK(out.table[2].replica == ReplicaId{1});
  CHECK(out.table[3].replica == ReplicaId{2});
  CHECK(out.result.replicas[3].requests == 0);
  CHECK(out.result.replicas[3].up == Duration{0});
}

// Replica 1 is ordered at 1 and takes 2 s to start: B, at 2, goes to replica 0, and of C and D, at 3, one to each.
TEST_CASE("a replica that joins takes requests when it has started, and counts as up from its order on") {
  Membership membership;
  membership.not_at_first = {ReplicaId{1}};
  membership.changes = {{at_second(1), ChangeKind::kJoins, ReplicaId{1}, std::chrono::seconds{2}}};
  Fleet out;
  serve({{"A", 0, 4, 5}, {"B", 2, 4, 1}, {"C", 3, 4, 1}, {"D", 3, 4, 1}}, 2, membership, out);
  CHECK(out.table[1].replica == ReplicaId{0});
  CHECK(out.result.replicas[1].requests == 1);
  CHECK(out.result.replicas[1].up == std::chrono::seconds{4});
}

// Ordered at 1 to be there at 6, but it joins at once at 2, fails at 3, and is ordered anew at 4 to be there at 14.
TEST_CASE("a start belongs to the order it was for") {
  Membership membership;
  membership.not_at_first = {ReplicaId{1}};
  membership.changes = {{at_second(1), ChangeKind::kJoins, ReplicaId{1}, std::chrono::seconds{5}},
                        {at_second(2), ChangeKind::kJoins, ReplicaId{1}},
                        {at_second(3), ChangeKind::kFails, ReplicaId{1}},
                        {at_second(4), ChangeKind::kJoins, ReplicaId{1}, std::chrono::seconds{10}}};
  Fleet out;
  serve({{"A", 0, 4, 9}, {"B", 7, 4, 1}, {"C", 7, 4, 1}}, 2, membership, out);
  CHECK(out.result.replicas[1].requests == 0);
  CHECK(out.result.replicas[1].up == std::chrono::seconds{2 + (9 - 4)});
}

TEST_CASE("a failed replica's counts go on where they were when it is back") {
  Membership membership;
  membership.changes = {{at_tenths(25), ChangeKind::kFails, ReplicaId{0}},
                        {at_second(3), ChangeKind::kJoins, ReplicaId{0}}};
  Fleet out;
  serve({{"A", 0, 4, 5}, {"B", 0, 4, 2}, {"C", 4, 4, 2}, {"D", 4, 4, 2}}, 2, membership, out);
  const ReplicaResult& back = out.result.replicas[0];
  REQUIRE(back.timeline.size() > 3);
  CHECK(std::is_sorted(back.timeline.begin(), back.timeline.end(),
                       [](const auto& a, const auto& b) { return a.tokens_emitted < b.tokens_emitted; }));
  CHECK(back.timeline.back().tokens_emitted == back.tokens_emitted);
  CHECK(back.timeline.back().prefill_tokens == back.counters.prefill_tokens);
}
