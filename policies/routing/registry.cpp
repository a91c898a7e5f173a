#include "policies/routing/registry.hpp"

#include <algorithm>
#include <cassert>

#include "policies/routing/routers.hpp"

namespace servecast {

const std::vector<std::string>& router_names() {
  static const std::vector<std::string> kNames{
      "round-robin",         "random",       "least-requests",  "least-tokens",
      "join-shortest-queue", "power-of-two", "prefix-affinity", "shared-queue"};
  return kNames;
}

const std::string& router_name(RouterKind kind) { return router_names()[static_cast<std::size_t>(kind)]; }

RouterKind router_kind(std::string_view name) {
  const auto found = std::find(router_names().begin(), router_names().end(), name);
  assert(found != router_names().end());
  return static_cast<RouterKind>(found - router_names().begin());
}

const std::vector<std::string>& load_names() {
  static const std::vector<std::string> kNames{"requests", "tokens", "waiting"};
  return kNames;
}

std::unique_ptr<Router> make_router(const RouterOptions& options, std::int64_t replica_runs, const RouterDraws& draws) {
  switch (options.kind) {
    case RouterKind::kRoundRobin:
      break;
    case RouterKind::kRandom:
      return make_random(stream(draws.seed, draws.purpose));
    case RouterKind::kLeastRequests:
      return make_least_loaded(Load::kRequests);
    case RouterKind::kLeastTokens:
      return make_least_loaded(Load::kPromptTokens);
    case RouterKind::kShortestQueue:
      return make_least_loaded(Load::kWaiting);
    case RouterKind::kPowerOfTwo:
      return make_power_of_two(options.load, stream(draws.seed, draws.purpose));
    case RouterKind::kPrefixAffinity:
      return make_prefix_affinity();
    case RouterKind::kSharedQueue:
      return make_shared_queue(options.slots.value_or(replica_runs));
  }
  return make_round_robin();
}

}  // namespace servecast
