// Laws of replicas that fail where prefill and decode have replicas of their own. The engine checks requests by
// replica, tokens, blocks, transferred bytes, Little's law and the causes of time by itself; a breach throws.
#include <algorithm>
#include <array>
#include <doctest/doctest.h>

#include "tests/laws/pool_case.hpp"
#include "tests/support/causes.hpp"

using namespace servecast;
using namespace servecast::test;

namespace {

// Failures and joins of any replicas at random instants; at the end all are back.
std::vector<Change> random_changes(RandomStream& random, std::size_t replicas, const RetryPolicy& retry) {
  std::vector<Change> changes;
  SimTime at = kStart;
  const auto last = static_cast<std::int64_t>(replicas) - 1;
  for (int i = 0; i < 16; ++i) {
    at += Duration{draw(random, 0, 30'000'000)};
    const auto kind = draw(random, 0, 2) < 2 ? ChangeKind::kFails : ChangeKind::kJoins;
    changes.push_back({at, kind, ReplicaId{static_cast<std::uint32_t>(draw(random, 0, last))}, Duration{0}, retry});
  }
  for (std::uint32_t r = 0; r < replicas; ++r) changes.push_back({at, ChangeKind::kJoins, ReplicaId{r}});
  return changes;
}

template <class F>
void for_random_failures(const char* purpose, F check) {
  for (const SchedulerOptions& options : pooled()) {
    RandomStream random = stream(63, purpose);
    for (int i = 0; i < 12; ++i) {
      CAPTURE(scheduler_name(options));
      CAPTURE(i);
      PoolCase what{options, static_cast<std::size_t>(draw(random, 1, 3)), static_cast<std::size_t>(draw(random, 1, 3)),
                    random_arrivals(random, 120, 100, 50, 5'000'000)};
      what.prefill_blocks = draw(random, 12, 40);
      what.decode_blocks = draw(random, 26, 70);
      what.pull.overlapped = i % 2 == 1;
      what.pull.waiting_share = draw(random, 0, 1) == 0 ? 0.05 : 0.5;
      what.bytes_per_second = draw(random, 0, 1) == 0 ? 1e9 : 1e8;
      what.over_topology = i >= 6;
      const RetryPolicy retry{Duration{draw(random, 0, 1) * 2'000'000}, i % 4 < 2};
      Membership membership;
      membership.changes = random_changes(random, what.prefills + what.decodes, retry);
      what.membership = &membership;
      check(what, retry);
    }
  }
}

struct Seen {
  std::int64_t lost = 0, kept = 0;
  std::int64_t cut = 0;  // bytes
  std::array<std::int64_t, kCauses> lost_in{};
};

void check_request(const Request& request, std::vector<SimTime> at, std::int64_t tokens, const RetryPolicy& retry) {
  std::sort(at.begin(), at.end());
  REQUIRE(request.outcome == Outcome::kCompleted);
  CHECK(sum_of_causes(request) == request.last_token_at - request.arrived_at);
  for (const Duration spent : request.spent) CHECK(spent >= Duration{0});
  REQUIRE(static_cast<std::int64_t>(at.size()) >= tokens);
  if (retry.keeps_tokens || request.retries == 0) CHECK(static_cast<std::int64_t>(at.size()) == tokens);
  // Kept: every token came once. Anew: the answer is that of the last try.
  CHECK(request.first_token_at == at[at.size() - static_cast<std::size_t>(tokens)]);
  CHECK(request.last_token_at == at.back());
}

}  // namespace

TEST_CASE("a failed replica of either pool loses no request, token, block or byte") {
  Seen seen;
  for_random_failures("failures", [&](const PoolCase& what, const RetryPolicy& retry) {
    ClusterRun out;
    run(what, out);
    for (const ReplicaResult& replica : out.result.replicas) seen.lost += replica.lost;
    const Moved& moved = out.result.moved;
    CHECK(moved.started == moved.arrived + moved.cut);
    seen.cut += moved.cut.count();
    std::int64_t retries = 0, gaps = 0;
    for (std::uint32_t r = 0; r < out.requests.size(); ++r) {
      const Request& request = out.requests[r];
      check_request(request, out.tokens_of(r), what.arrivals[r].output.count(), retry);
      retries += request.retries;
      gaps += what.arrivals[r].output.count() - 1;
      if (retry.keeps_tokens && request.retries > 0 && request.output > 1) ++seen.kept;
    }
    std::int64_t lost = 0;
    for (const ReplicaResult& replica : out.result.replicas) lost += replica.lost;
    CHECK(lost == retries);
    if (retry.keeps_tokens) CHECK(out.result.gaps.total() == gaps);
  });
  CHECK(seen.lost > 1000);
  CHECK(seen.kept > 100);
  CHECK(seen.cut > 0);
}

TEST_CASE("pools: the same failures give the same run, watched or not, cut off or not") {
  for_random_failures("again", [](const PoolCase& what, const RetryPolicy&) {
    CutRun out;
    run_again_and_cut(what, out);
    for (std::uint32_t r = 0; r < out.cut.requests.size(); ++r) {
      const Request& request = out.cut.requests[r];
      if (request.outcome == Outcome::kOpen) {
        CHECK(sum_of_causes(request) == out.horizon - request.arrived_at);
      } else {
        CHECK(request.spent == out.whole.requests[r].spent);
      }
    }
  });
}

TEST_CASE("with ample memory, failures of replicas that decode delay no first token") {
  for (const SchedulerOptions& options : pooled()) {
    CAPTURE(scheduler_name(options));
    RandomStream random = stream(64, "ttft");
    PoolCase what{options, 2, 2, random_arrivals(random, 150, 100, 50, 2'000'000)};
    what.prefill_blocks = what.decode_blocks = 100'000;
    ClusterRun base, others;
    run(what, base, false);
    const SimTime last = what.arrivals.back().at;
    Membership membership;  // after the last prefill, so that what comes back is in nobody's way
    membership.changes = {
        {last + std::chrono::seconds{1}, ChangeKind::kFails, ReplicaId{2}, Duration{0}, {.keeps_tokens = true}}};
    what.membership = &membership;
    what.bytes_per_second = 1e8;
    run(what, others, false);
    for (std::uint32_t r = 0; r < base.requests.size(); ++r) {
      CHECK(base.requests[r].first_token_at == others.requests[r].first_token_at);
    }
  }
}
