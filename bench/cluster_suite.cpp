// Speed of many replicas behind a router, at 0.8 of the rate at which they complete a backlog.
#include <algorithm>
#include <cstdio>
#include <fmt/format.h>

#include "bench/suites.hpp"
#include "policies/routing/registry.hpp"

namespace servecast::bench {
namespace {

constexpr std::int64_t kRequests = 1'000'000;

SimCase at_load(std::int64_t replicas, const std::string& router, double rate_of_one) {
  SimCase what;
  what.requests = kRequests;
  what.replicas = replicas;
  what.router = router;
  what.rate = 0.8 * rate_of_one * static_cast<double>(replicas);
  return what;
}

void report(const Self& self, const SimCase& what) {
  double wall_s = 1e300;
  SimTiming t;
  for (int i = 0; i < 3; ++i) {
    t = measure(self, what).timing;
    wall_s = std::min(wall_s, t.wall_s);
  }
  constexpr const char* kLinks[] = {"", " pools=half links=direct", " pools=half links=dgx-h100"};
  fmt::print("replicas={} router={}{} load=0.8 requests_per_s={:.0f} steps_per_request={:.2f} ns_per_step={:.0f}\n",
             what.replicas, what.router, kLinks[static_cast<std::size_t>(what.links)],
             static_cast<double>(t.completed) / wall_s, static_cast<double>(t.steps) / static_cast<double>(t.completed),
             wall_s * 1e9 / static_cast<double>(t.steps));
  std::fflush(stdout);
}

// Half of the replicas prefill and half decode: at 0.8 of what such a pair completes of a backlog.
void run_halves(const Self& self, const std::vector<std::string>& routers, std::int64_t replicas) {
  SimCase pair;
  pair.requests = 100'000;
  pair.replicas = 2;
  pair.links = SimCase::Links::kDirect;
  const double rate_of_one = measure(self, pair).timing.completed_rate / 2;
  for (const SimCase::Links links : {SimCase::Links::kDirect, SimCase::Links::kTopology}) {
    for (const std::string& router : routers) {
      SimCase what = at_load(replicas, router, rate_of_one);
      what.links = links;
      report(self, what);
    }
  }
}

}  // namespace

void run_pools(const Self& self) {
  run_halves(self, router_names(), 16);
  for (const std::int64_t replicas : {2, 64, 256}) run_halves(self, {"least-requests"}, replicas);
}

void run_cluster(const Self& self) {
  SimCase backlog;
  backlog.requests = 100'000;
  const double rate_of_one = measure(self, backlog).timing.completed_rate;
  for (const std::string& router : router_names()) report(self, at_load(16, router, rate_of_one));
  for (const std::int64_t replicas : {1, 4, 64, 256, 1024}) {
    report(self, at_load(replicas, "least-requests", rate_of_one));
  }
}

}  // namespace servecast::bench
