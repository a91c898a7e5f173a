// Laws of many replicas behind a router. The engine checks blocks, tokens, requests by replica, Little's law and the
// causes of time by itself in each of these runs; a breach throws.
#include <algorithm>
#include <doctest/doctest.h>
#include <numeric>

#include "tests/laws/cluster_run.hpp"

using namespace servecast;
using namespace servecast::test;

namespace {

std::vector<SchedulerOptions> mixed(std::size_t replicas) {
  const std::vector<SchedulerOptions> all = small_schedulers();
  std::vector<SchedulerOptions> some;
  for (std::size_t i = 0; i < replicas; ++i) some.push_back(all[(i * 5 + 3) % all.size()]);
  return some;
}

std::string name_of(const RouterOptions& router) { return router_name(router.kind); }

// Whoever sends a request waits for its answer and thinks; all start at once.
class ThreeClients final : public ArrivalSource {
 public:
  explicit ThreeClients(std::int64_t requests) : left_(requests), random_(stream(5, "clients")) {
    for (int i = 0; i < 3; ++i) ready_.push_back(kStart);
  }
  std::optional<Arrival> next() override {
    if (left_ == 0 || ready_.empty()) return std::nullopt;
    --left_;
    const Tokens output{draw(random_, 1, 30)};
    const Arrival arrival{ready_.back(), Tokens{draw(random_, 1, 90)}, output, output};
    ready_.pop_back();
    return arrival;
  }
  [[nodiscard]] bool closed_loop() const override { return true; }
  void finished(RequestId, SimTime at) override {
    CHECK(at >= latest);
    latest = at;
    ready_.push_back(at + Duration{draw(random_, 0, 3'000'000)});
  }

  SimTime latest = kStart;

 private:
  std::int64_t left_;
  RandomStream random_;
  std::vector<SimTime> ready_;
};

bool same(const ClusterRun& a, const ClusterRun& b) {
  if (a.result.counters.digest != b.result.counters.digest || a.requests.size() != b.requests.size()) return false;
  for (std::uint32_t i = 0; i < a.requests.size(); ++i) {
    const Request &x = a.requests[i], &y = b.requests[i];
    if (x.replica != y.replica || x.last_token_at != y.last_token_at || x.spent != y.spent) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("every request of a cluster emits exactly its tokens at one replica, and its time is accounted for") {
  for (const RouterOptions& router : all_routers()) {
    RandomStream random = stream(21, "cluster");
    for (int i = 0; i < 6; ++i) {
      CAPTURE(name_of(router));
      CAPTURE(i);
      const std::size_t replicas = static_cast<std::size_t>(draw(random, 1, 9));
      ClusterCase what{mixed(replicas), router, random_arrivals(random, 150, 100, 50, 3'000'000), draw(random, 12, 60)};
      if (i % 2 == 1) what.config.snapshot_age = Duration{draw(random, 1, 20'000'000)};
      ClusterRun out;
      run(what, out);
      REQUIRE(out.requests.size() == what.arrivals.size());
      std::int64_t sent = 0;
      for (const ReplicaResult& replica : out.result.replicas) sent += replica.requests;
      CHECK(sent == static_cast<std::int64_t>(what.arrivals.size()));
      for (std::uint32_t r = 0; r < out.requests.size(); ++r) {
        const Request& request = out.requests[r];
        CHECK(request.outcome == Outcome::kCompleted);
        const Watcher& watcher = out.watchers[index_of(request.replica)];
        CHECK(static_cast<std::int64_t>(watcher.tokens_at.at(r).size()) == what.arrivals[r].output.count());
        CHECK(out.tokens_of(r).size() == watcher.tokens_at.at(r).size());
        const Duration sum = std::accumulate(request.spent.begin(), request.spent.end(), Duration{0});
        CHECK(sum == request.last_token_at - request.arrived_at);
      }
    }
  }
}

TEST_CASE("the same seed gives the same cluster run, watched or not") {
  for (const RouterOptions& router : all_routers()) {
    CAPTURE(name_of(router));
    RandomStream random = stream(22, "again");
    ClusterCase what{mixed(7), router, random_arrivals(random, 300, 100, 50, 2'000'000), 40};
    what.config.snapshot_age = Duration{5'000'000};
    ClusterRun first, second, unwatched;
    run(what, first);
    run(what, second);
    run(what, unwatched, false);
    CHECK(same(first, second));
    CHECK(same(first, unwatched));
  }
}

// An open source and a closed one that gives the same arrivals: the first lets replicas run ahead of each other.
TEST_CASE("replicas that run ahead of each other give what one event at a time gives") {
  class Told final : public ArrivalSource {
   public:
    explicit Told(const std::vector<Arrival>& arrivals) : open_(arrivals) {}
    std::optional<Arrival> next() override { return open_.next(); }
    [[nodiscard]] bool closed_loop() const override { return true; }
    void finished(RequestId, SimTime) override {}

   private:
    GivenArrivals open_;
  };
  for (const RouterOptions& router : all_routers()) {
    for (const Duration age : {Duration{0}, Duration{7'000'000}}) {
      CAPTURE(name_of(router));
      RandomStream random = stream(23, "ahead");
      ClusterCase what{mixed(8), router, random_arrivals(random, 300, 100, 50, 2'000'000), 40};
      what.config.snapshot_age = age;
      ClusterRun ahead, in_order;
      run(what, ahead, false);
      Told source(what.arrivals);
      run(what, source, in_order, false);
      CHECK(same(ahead, in_order));
    }
  }
}

TEST_CASE("a closed loop hears of the ends of all replicas in order of time") {
  for (const RouterOptions& router : all_routers()) {
    CAPTURE(name_of(router));
    ClusterCase what{mixed(5), router, {}, 40};
    ThreeClients source(200);
    ClusterRun out;
    run(what, source, out, false);
    CHECK(out.requests.size() == 200);
    for (std::uint32_t i = 0; i < out.requests.size(); ++i) CHECK(out.requests[i].outcome == Outcome::kCompleted);
  }
}

// The strongest test of independence: request r of N replicas is request r / N of replica r mod N on its own.
TEST_CASE("round-robin over N replicas is N runs of every Nth request") {
  constexpr std::uint32_t kReplicas = 5;
  RandomStream random = stream(24, "round-robin");
  ClusterCase what{mixed(kReplicas), {}, random_arrivals(random, 400, 100, 50, 2'000'000), 40};
  ClusterRun together;
  run(what, together);
  for (std::uint32_t replica = 0; replica < kReplicas; ++replica) {
    LawCase alone{what.replicas[replica], {}, what.blocks};
    for (std::size_t i = replica; i < what.arrivals.size(); i += kReplicas) alone.arrivals.push_back(what.arrivals[i]);
    LawRun out;
    run(alone, out);
    CHECK(out.result.counters.digest == together.result.replicas[replica].counters.digest);
    for (std::uint32_t i = 0; i < out.requests.size(); ++i) {
      CHECK(out.watcher.tokens_at.at(i) == together.watchers[replica].tokens_at.at(i * kReplicas + replica));
      CHECK(out.requests[i].spent == together.requests[i * kReplicas + replica].spent);
    }
  }
}

TEST_CASE("a cluster that is cut off accounts for the time of all that is open") {
  for (const RouterOptions& router : all_routers()) {
    CAPTURE(name_of(router));
    RandomStream random = stream(25, "horizon");
    ClusterCase what{mixed(4), router, random_arrivals(random, 200, 100, 50, 1'000'000), 30};
    what.config.horizon = kStart + Duration{60'000'000};
    ClusterRun out;
    run(what, out);
    CHECK(out.result.stopped_at_horizon);
    int open = 0;
    for (std::uint32_t i = 0; i < out.requests.size(); ++i) {
      const Request& request = out.requests[i];
      if (request.outcome != Outcome::kOpen) continue;
      ++open;
      const Duration sum = std::accumulate(request.spent.begin(), request.spent.end(), Duration{0});
      CHECK(sum == *what.config.horizon - request.arrived_at);
    }
    CHECK(open > 0);
  }
}
