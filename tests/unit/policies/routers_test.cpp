// What each router answers to a view of its replicas.
#include <doctest/doctest.h>
#include <map>
#include <set>

#include "policies/routing/registry.hpp"

using namespace servecast;

namespace {

constexpr std::uint32_t kReplicas = 4;

RoutedRequest request(std::uint64_t affinity = 0) { return {RequestId{0}, kStart, Tokens{10}, Tokens{10}, affinity}; }

std::unique_ptr<Router> router(RouterKind kind, std::uint64_t seed = 1) {
  return make_router({.kind = kind, .load = Load::kRequests, .slots = {}}, 2, {seed, "router"});
}

// Four replicas with so many requests each; -1: takes none.
ReplicaLoads loads(const std::vector<int>& requests, bool live = true) {
  ReplicaLoads list(static_cast<std::uint32_t>(requests.size()), Load::kRequests, live);
  for (std::uint32_t i = 0; i < requests.size(); ++i) {
    list.takes_requests(ReplicaId{i}, requests[i] >= 0);
    for (int r = 0; r < requests[i]; ++r) list.sent(ReplicaId{i}, 100);
  }
  return list;
}

std::uint32_t answer(Router& asked, const ReplicaLoads& list, std::uint64_t affinity = 0) {
  return index_of(asked.route(request(affinity), list.view()).value());
}

}  // namespace

TEST_CASE("round-robin goes round those that take requests") {
  const auto asked = router(RouterKind::kRoundRobin);
  const ReplicaLoads list = loads({0, -1, 7, 0});
  std::vector<std::uint32_t> answers;
  for (int i = 0; i < 5; ++i) answers.push_back(answer(*asked, list));
  CHECK(answers == std::vector<std::uint32_t>{0, 2, 3, 0, 2});
}

TEST_CASE("random takes each equally often, and the same ones for the same seed") {
  const auto asked = router(RouterKind::kRandom, 3), again = router(RouterKind::kRandom, 3);
  const ReplicaLoads list = loads({0, 0, -1, 9});
  std::map<std::uint32_t, int> taken;
  for (int i = 0; i < 30'000; ++i) {
    const std::uint32_t replica = answer(*asked, list);
    CHECK(answer(*again, list) == replica);
    ++taken[replica];
  }
  REQUIRE(taken.size() == 3);
  for (const auto& [replica, count] : taken) CHECK(std::abs(count - 10'000) < 4 * 82);  // four standard deviations
}

TEST_CASE("least-requests takes the least loaded, of equals the first, and never one that takes none") {
  const auto asked = router(RouterKind::kLeastRequests);
  CHECK(answer(*asked, loads({3, 2, 2, 5})) == 1);
  CHECK(answer(*asked, loads({3, -1, 2, 5})) == 2);
  ReplicaLoads list = loads({1, 1, 1, 1});
  list.ended(ReplicaId{3}, 100);
  CHECK(answer(*asked, list) == 3);
}

TEST_CASE("power-of-two never takes the most loaded and takes the least loaded half of the time") {
  const auto asked = router(RouterKind::kPowerOfTwo);
  const ReplicaLoads list = loads({1, 2, 3, 4});
  std::map<std::uint32_t, int> taken;
  for (int i = 0; i < 30'000; ++i) ++taken[answer(*asked, list)];
  CHECK(taken.count(3) == 0);
  CHECK(std::abs(taken[0] - 15'000) < 4 * 87);  // in 3 of the 6 pairs
  CHECK(std::abs(taken[1] - 10'000) < 4 * 82);  // in 2 of them
}

TEST_CASE("prefix-affinity keeps an affinity at one replica, spreads many, and moves few when one more comes") {
  const auto asked = router(RouterKind::kPrefixAffinity);
  const ReplicaLoads four = loads({9, 0, 0, 0}), five = loads({0, 0, 0, 0, 0});
  std::map<std::uint32_t, int> taken;
  int moved = 0;
  for (std::uint64_t affinity = 1; affinity <= 20'000; ++affinity) {
    const std::uint32_t replica = answer(*asked, four, affinity);
    CHECK(answer(*asked, four, affinity) == replica);
    ++taken[replica];
    const std::uint32_t then = answer(*asked, five, affinity);
    if (then != replica) {
      CHECK(then == 4);
      ++moved;
    }
  }
  for (std::uint32_t i = 0; i < kReplicas; ++i) CHECK(std::abs(taken[i] - 5'000) < 4 * 61);
  CHECK(std::abs(moved - 4'000) < 4 * 57);  // a fifth: what the new one gets
}

TEST_CASE("shared-queue holds a request back while every replica has its slots full") {
  const auto asked = router(RouterKind::kSharedQueue);
  CHECK(asked->holds());
  CHECK(answer(*asked, loads({2, 1, 2, 2})) == 1);
  CHECK_FALSE(asked->route(request(), loads({2, 2, 2, 3}).view()).has_value());
}

TEST_CASE("a view with an age shows the loads of the latest snapshot") {
  const auto asked = router(RouterKind::kLeastRequests);
  ReplicaLoads list = loads({0, 0, 0, 0}, false);
  for (int i = 0; i < 3; ++i) {
    const std::uint32_t replica = answer(*asked, list);
    CHECK(replica == 0);  // it does not see what it has sent since
    list.sent(ReplicaId{replica}, 100);
  }
  list.publish();
  CHECK(answer(*asked, list) == 1);
  CHECK(list.view().load(ReplicaId{0}) == 3);
}

TEST_CASE("prompt tokens and waiting requests are counted where they are what the router looks at") {
  ReplicaLoads tokens(2, Load::kPromptTokens, true), waiting(2, Load::kWaiting, true);
  for (ReplicaLoads* list : {&tokens, &waiting}) {
    list->takes_requests(ReplicaId{0}, true);
    list->takes_requests(ReplicaId{1}, true);
    list->sent(ReplicaId{0}, 500);
    list->sent(ReplicaId{1}, 100);
    list->sent(ReplicaId{1}, 100);
  }
  waiting.waiting(ReplicaId{1}, 1);
  CHECK(tokens.view().least_loaded() == ReplicaId{1});
  tokens.ended(ReplicaId{0}, 500);
  CHECK(tokens.view().least_loaded() == ReplicaId{0});
  CHECK(waiting.view().least_loaded() == ReplicaId{0});
  CHECK(waiting.view().load(ReplicaId{1}) == 1);
}
