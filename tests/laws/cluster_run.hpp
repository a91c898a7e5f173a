// Clusters of replicas under random workloads, each replica watched token by token.
#pragma once

#include <doctest/doctest.h>
#include <memory>
#include <string>
#include <vector>

#include "policies/routing/registry.hpp"
#include "tests/laws/law_run.hpp"

namespace servecast::test {

struct ClusterCase {
  std::vector<SchedulerOptions> replicas;  // one each
  RouterOptions router;
  std::vector<Arrival> arrivals;
  std::int64_t blocks = 0;
  ClusterConfig config = {};
  std::int64_t slots = 4;  // of a shared queue
};

struct ClusterRun {
  RequestTable requests;
  RunResult result;
  std::vector<Watcher> watchers;  // by replica

  // The instants at which the request's tokens came out, wherever.
  [[nodiscard]] std::vector<SimTime> tokens_of(std::uint32_t request) const {
    std::vector<SimTime> at;
    for (const Watcher& watcher : watchers) {
      const auto found = watcher.tokens_at.find(request);
      if (found != watcher.tokens_at.end()) at.insert(at.end(), found->second.begin(), found->second.end());
    }
    return at;
  }
};

// `source` may be closed.
inline void run(const ClusterCase& what, ArrivalSource& source, ClusterRun& out, bool watched = true) {
  std::vector<LinearSteps> models(what.replicas.size());
  std::vector<std::unique_ptr<PredictedExecutor>> executors;
  std::vector<std::unique_ptr<Scheduler>> schedulers;
  std::vector<ReplicaSpec> specs;
  out.watchers.resize(what.replicas.size());
  for (std::size_t i = 0; i < what.replicas.size(); ++i) {
    executors.push_back(std::make_unique<PredictedExecutor>(models[i]));
    schedulers.push_back(make_scheduler(what.replicas[i], out.requests));
    LawCase alone;
    alone.options = what.replicas[i];
    alone.blocks = what.blocks;
    specs.push_back(
        {config_of(alone).replica, schedulers[i].get(), executors[i].get(), watched ? &out.watchers[i] : nullptr});
  }
  const auto router = make_router(what.router, what.slots);
  out.result = simulate(what.config, specs, *router, out.requests, source);
}

inline void run(const ClusterCase& what, ClusterRun& out, bool watched = true) {
  GivenArrivals source(what.arrivals);
  run(what, source, out, watched);
}

// One case in full and up to half of the time it takes. Watched, it must be the same run.
struct CutRun {
  ClusterRun whole, cut;
  SimTime horizon;
};

template <class Case>
void run_again_and_cut(Case what, CutRun& out) {
  ClusterRun watched;
  run(what, watched);
  run(what, out.whole, false);
  CHECK(watched.result.counters.digest == out.whole.result.counters.digest);
  out.horizon = kStart + (out.whole.result.ended_at - kStart) / 2;
  what.horizon = out.horizon;
  run(what, out.cut, false);
}

inline std::vector<RouterOptions> all_routers() {
  std::vector<RouterOptions> all;
  for (std::size_t i = 0; i < router_names().size(); ++i) {
    all.push_back({.kind = static_cast<RouterKind>(i), .load = Load::kRequests, .slots = {}});
  }
  all.push_back({.kind = RouterKind::kPowerOfTwo, .load = Load::kWaiting, .slots = {}});
  return all;
}

}  // namespace servecast::test
