// Laws of replicas that fail, join, and are ordered or sent away. The engine checks requests by replica, tokens,
// blocks, Little's law and the causes of time by itself; a breach throws.
#include <algorithm>
#include <doctest/doctest.h>

#include "policies/scaling/target_tracking.hpp"
#include "tests/laws/cluster_run.hpp"
#include "tests/support/causes.hpp"

using namespace servecast;
using namespace servecast::test;

namespace {

constexpr std::uint32_t kReplicas = 5;

// Failures and joins at random instants, some of them of replicas that are not there, or already are; at the end all
// are back.
std::vector<Change> random_changes(RandomStream& random, std::int64_t last_ns, const RetryPolicy& retry) {
  std::vector<Change> changes;
  std::int64_t at = 0;
  for (int i = 0; i < 12; ++i) {
    at += draw(random, 0, last_ns / 12);
    const auto kind = draw(random, 0, 1) == 0 ? ChangeKind::kFails : ChangeKind::kJoins;
    changes.push_back({kStart + Duration{at},
                       kind,
                       ReplicaId{static_cast<std::uint32_t>(draw(random, 0, kReplicas - 1))},
                       {},
                       retry});
  }
  for (std::uint32_t r = 0; r < kReplicas; ++r) {
    changes.push_back({kStart + Duration{at}, ChangeKind::kJoins, ReplicaId{r}});
  }
  return changes;
}

template <class F>
void for_random_failures(const char* purpose, F check) {
  for (const RouterOptions& router : all_routers()) {
    RandomStream random = stream(61, purpose);
    for (int i = 0; i < 8; ++i) {
      CAPTURE(router_name(router.kind));
      CAPTURE(i);
      const std::vector<SchedulerOptions> all = small_schedulers();
      ClusterCase what{{}, router, random_arrivals(random, 150, 100, 50, 3'000'000), draw(random, 24, 60)};
      for (std::uint32_t r = 0; r < kReplicas; ++r)
        what.replicas.push_back(all[(r * 5 + static_cast<std::size_t>(i)) % all.size()]);
      if (i % 3 == 2) what.config.snapshot_age = Duration{7'000'000};
      Membership membership;
      const RetryPolicy retry{Duration{i % 2 == 0 ? 0 : 2'000'000}, i % 4 < 2};
      membership.changes = random_changes(random, 200'000'000, retry);
      membership.not_at_first = {ReplicaId{1}};
      what.config.membership = &membership;
      check(what, retry);
    }
  }
}

}  // namespace

TEST_CASE("a failed replica loses no request: each is served in the end, and all its time is accounted for") {
  std::int64_t lost = 0, kept = 0;
  for_random_failures("failures", [&](const ClusterCase& what, const RetryPolicy& retry) {
    ClusterRun out;
    run(what, out);
    for (const ReplicaResult& replica : out.result.replicas) lost += replica.lost;
    const bool mixed = std::any_of(what.replicas.begin(), what.replicas.end(),
                                   [](const SchedulerOptions& o) { return replica_needs(o).deliver_at_batch_end; });
    for (std::uint32_t r = 0; r < out.requests.size(); ++r) {
      const Request& request = out.requests[r];
      REQUIRE(request.outcome == Outcome::kCompleted);
      CHECK(sum_of_causes(request) == request.last_token_at - request.arrived_at);
      for (const Duration spent : request.spent) CHECK(spent >= Duration{0});
      const std::int64_t tokens = what.arrivals[r].output.count();
      std::vector<SimTime> at = out.tokens_of(r);
      std::sort(at.begin(), at.end());
      CHECK(static_cast<std::int64_t>(at.size()) >= tokens);
      if (request.retries == 0) CHECK(static_cast<std::int64_t>(at.size()) == tokens);
      if (!request.streamed) continue;
      CHECK(request.last_token_at == at.back());
      if (retry.keeps_tokens && request.retries > 0) {
        if (mixed) continue;  // a replica that delivers answers whole may have lost what others had kept
        ++kept;
        CHECK(static_cast<std::int64_t>(at.size()) == tokens);
      }
      // Kept: every token came once. Anew: the answer is that of the last try.
      CHECK(request.first_token_at == at[at.size() - static_cast<std::size_t>(tokens)]);
    }
  });
  CHECK(lost > 1000);
  CHECK(kept > 100);
}

TEST_CASE("the same failures give the same run, watched or not, cut off or not") {
  for_random_failures("again", [](ClusterCase what, const RetryPolicy&) {
    ClusterRun watched, plain, cut;
    run(what, watched);
    run(what, plain, false);
    CHECK(watched.result.counters.digest == plain.result.counters.digest);
    what.config.horizon = kStart + (plain.result.ended_at - kStart) / 2;
    run(what, cut, false);
    for (std::uint32_t r = 0; r < cut.requests.size(); ++r) {
      const Request& request = cut.requests[r];
      if (request.outcome == Outcome::kOpen) {
        CHECK(sum_of_causes(request) == *what.config.horizon - request.arrived_at);
      } else {
        CHECK(request.spent == plain.requests[r].spent);
      }
    }
  });
}

TEST_CASE("an autoscaler orders what the load needs, sends it away again, and loses nobody") {
  RandomStream random = stream(62, "scaling");
  std::vector<Arrival> arrivals = random_arrivals(random, 60, 100, 50, 120'000'000);
  const std::vector<Arrival> burst = random_arrivals(random, 600, 100, 50, 1'000'000);
  const SimTime calm = arrivals.back().at;
  for (Arrival arrival : burst) {
    arrival.at = calm + (arrival.at - kStart);
    arrivals.push_back(arrival);
  }
  for (Arrival arrival : random_arrivals(random, 60, 100, 50, 120'000'000)) {
    arrival.at = calm + (burst.back().at - kStart) + (arrival.at - kStart);
    arrivals.push_back(arrival);
  }
  for (const auto measure : {TargetTrackingOptions::Measure::kBusy, TargetTrackingOptions::Measure::kWaiting}) {
    const bool busy = measure == TargetTrackingOptions::Measure::kBusy;
    TargetTracking autoscaler({.measure = measure, .target = busy ? 0.5 : 2, .least = 1, .most = 6});
    Membership membership;
    membership.autoscaler = &autoscaler;
    membership.look_every = Duration{20'000'000};
    membership.provisioning = Duration{30'000'000};
    for (std::uint32_t r = 1; r < 6; ++r) membership.not_at_first.push_back(ReplicaId{r});
    ClusterCase what{std::vector<SchedulerOptions>(6, VllmV1Options{}),
                     {.kind = RouterKind::kLeastRequests, .load = Load::kRequests, .slots = {}},
                     arrivals,
                     200};
    what.config.membership = &membership;
    ClusterRun out, alone;
    run(what, out, false);
    Duration up{0};
    for (const ReplicaResult& replica : out.result.replicas) up += replica.up;
    const Duration length = out.result.ended_at - kStart;
    CHECK(out.result.replicas[3].requests > 0);  // the burst needed more than three
    CHECK(up < 3 * length);                      // and they did not stay
    CHECK(out.result.replicas[0].up == length);  // the first is never sent away
    membership.autoscaler = nullptr;
    run(what, alone, false);
    const auto mean = [](const ClusterRun& one) {
      Duration sum{0};
      for (std::uint32_t r = 0; r < one.requests.size(); ++r) {
        CHECK(one.requests[r].outcome == Outcome::kCompleted);
        sum += one.requests[r].first_token_at - one.requests[r].arrived_at;
      }
      return sum / one.requests.size();
    };
    CHECK(mean(out) < mean(alone) / 2);
  }
}
