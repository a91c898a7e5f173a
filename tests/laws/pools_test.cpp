// Laws of prefill and decode on replicas of their own, over links between pairs and over those of a topology. The
// engine checks blocks and tokens of every replica after each step, requests, transferred bytes, Little's law and the
// causes of time by itself; a breach throws.
#include <algorithm>
#include <doctest/doctest.h>

#include "costmodel/kv_network.hpp"
#include "tests/laws/cluster_run.hpp"
#include "tests/support/causes.hpp"

using namespace servecast;
using namespace servecast::test;

namespace {

struct PoolCase {
  SchedulerOptions options;
  std::size_t prefills = 2, decodes = 2;
  std::vector<Arrival> arrivals;
  std::int64_t prefill_blocks = 60, decode_blocks = 60;
  PullConfig pull = {};
  double bytes_per_second = 1e9;
  std::optional<SimTime> horizon = {};
  bool over_topology = false;  // else every pair of replicas has a link of its own
  std::size_t stages = 1;      // of every replica
};

constexpr std::int64_t kBlockBytes = 1'000'000;

// A GPU for each replica, each with a link of this bandwidth to one switch; a way takes as long as a link between
// pairs.
class Star {
 public:
  Star(const PoolCase& what, Bytes block)
      : topology_(star(what)),
        routes_(topology_),
        replicas_(of_one_gpu(what.prefills + what.decodes)),
        network_(routes_, {{0, 0, block}}, {{}, std::span(replicas_).first(what.prefills)},
                 {{}, std::span(replicas_).subspan(what.prefills)}) {}

  TransferNetwork& network() { return network_; }

 private:
  static Topology star(const PoolCase& what) {
    std::vector<TopologyNode> nodes{{"switch", NodeKind::kSwitch, std::nullopt, ""}};
    std::vector<TopologyLink> links;
    for (NodeIndex i = 1; i <= what.prefills + what.decodes; ++i) {
      nodes.push_back({"gpu", NodeKind::kGpu, 0, ""});
      links.push_back({i, 0, LinkMedium::kNetwork, what.bytes_per_second, 1, Duration{25'000}});
      links.push_back({0, i, LinkMedium::kNetwork, what.bytes_per_second, 1, Duration{25'000}});
    }
    return {"star", "A star", nodes, links};
  }
  static std::vector<PlacedReplica> of_one_gpu(std::size_t count) {
    std::vector<PlacedReplica> replicas;
    for (GpuIndex gpu = 0; gpu < count; ++gpu) replicas.push_back({{{gpu}}});
    return replicas;
  }

  Topology topology_;
  Routes routes_;
  std::vector<PlacedReplica> replicas_;
  KvNetwork network_;
};

void run(const PoolCase& what, ClusterRun& out, bool watched = true) {
  const std::size_t count = what.prefills + what.decodes;
  std::vector<LinearSteps> models(count);
  std::vector<LinearStages> stages(count, LinearStages(what.stages, Duration{30'011}, Duration{10'007}));
  std::vector<std::unique_ptr<StepExecutor>> executors;
  std::vector<std::unique_ptr<Scheduler>> schedulers;
  std::vector<ReplicaSpec> specs;
  out.watchers.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const Role role = i < what.prefills ? Role::kPrefill : Role::kDecode;
    LawCase alone;
    alone.options = what.options;
    alone.stages = what.stages;
    alone.blocks = role == Role::kPrefill ? what.prefill_blocks : what.decode_blocks;
    ReplicaConfig config = config_of(alone).replica;
    config.role = role;
    config.pull = what.pull;
    config.block_bytes = Bytes{kBlockBytes / (replica_needs(what.options).slots ? 16 : 1)};
    config.host_blocks = Blocks{100'000};
    config.swap_per_block = Duration{100'000};
    if (what.stages == 1) {
      executors.push_back(std::make_unique<PredictedExecutor>(models[i]));
    } else {
      executors.push_back(std::make_unique<PipelinedExecutor>(stages[i]));
    }
    schedulers.push_back(make_scheduler(what.options, out.requests, role));
    specs.push_back({config, schedulers.back().get(), executors.back().get(), watched ? &out.watchers[i] : nullptr});
  }
  DirectLinks links(what.bytes_per_second, Duration{50'000});
  const auto front = make_router({.kind = RouterKind::kShortestQueue, .load = Load::kWaiting, .slots = {}}, 1);
  const auto among = make_router({.kind = RouterKind::kLeastRequests, .load = Load::kRequests, .slots = {}}, 1);
  Star star(what, specs.front().config.block_bytes);
  Disaggregation pools{*among, what.over_topology ? star.network() : links};
  ClusterConfig config;
  config.horizon = what.horizon;
  config.disaggregation = &pools;
  GivenArrivals source(what.arrivals);
  out.result = simulate(config, specs, *front, out.requests, source);
}

// Those that can have pools, with limits that bind at times.
std::vector<SchedulerOptions> pooled() {
  std::vector<SchedulerOptions> list;
  for (const SchedulerOptions& options : small_schedulers()) {
    if (!replica_needs(options).one_place) list.push_back(options);
  }
  list.push_back(DistserveOptions{});
  DistserveOptions small;
  small.prefill_max_tokens = Tokens{150};
  small.decode_max_batch = 6;
  list.push_back(small);
  return list;
}

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
  for_random_pools("again", [](PoolCase what) {
    ClusterRun watched, plain, cut;
    run(what, watched);
    run(what, plain, false);
    CHECK(watched.result.counters.digest == plain.result.counters.digest);
    what.horizon = kStart + (plain.result.ended_at - kStart) / 2;
    run(what, cut, false);
    CHECK(cut.result.stopped_at_horizon);
    for (std::uint32_t r = 0; r < cut.requests.size(); ++r) {
      const Request& request = cut.requests[r];
      const SimTime end = request.outcome == Outcome::kOpen ? *what.horizon : request.last_token_at;
      CHECK(sum_of_causes(request) == end - request.arrived_at);
      CHECK(request.arrived_at == plain.requests[r].arrived_at);
      if (request.outcome == Outcome::kCompleted) CHECK(request.spent == plain.requests[r].spent);
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
