#include <algorithm>

#include "app/experiment/keys.hpp"

namespace servecast::experiments {
namespace {

Key router(RouterKind kind, std::string about, std::vector<Key> keys = {}) {
  return map_key(router_name(kind), std::move(about), std::move(keys),
                 [kind](Experiment& e, const Scalar&) {
                   e.deployment.router = RouterOptions{.kind = kind, .load = Load::kRequests, .slots = {}};
                 })
      .as_alternative();
}

Key power_of_two_key() {
  return router(RouterKind::kPowerOfTwo, "The less loaded of two that are drawn.",
                {choice_key("load", load_names(),
                            "What is compared: requests not ended, their prompt tokens, or requests waiting.",
                            [](Experiment& e, const Scalar& v) {
                              const auto at = std::find(load_names().begin(), load_names().end(), v.text);
                              e.deployment.router.load = static_cast<Load>(at - load_names().begin());
                            })
                     .with_default(load_names().front())});
}

Key shared_queue_key() {
  return router(RouterKind::kSharedQueue, "One queue for all: who has a free slot takes its head.",
                {integer_key("slots", "requests", {1, 1'000'000},
                             "Requests that a replica holds at most; by default those that its policy runs at once.",
                             [](Experiment& e, const Scalar& v) { e.deployment.router.slots = v.integer; })});
}

// Prefills go to the shortest queue in DistServe. What runs counts here: a step takes all that fits, so that queues are
// mostly empty, and the first of equal ones would get everything.
std::string default_router(const Experiment& e) {
  const bool distserve = std::holds_alternative<DistserveOptions>(e.deployment.policy);
  return router_name(distserve ? RouterKind::kLeastRequests : RouterOptions{}.kind);
}

bool sees_snapshots(const Experiment& e) {
  switch (e.deployment.router.kind) {
    case RouterKind::kLeastRequests:
    case RouterKind::kLeastTokens:
    case RouterKind::kShortestQueue:
    case RouterKind::kPowerOfTwo:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::vector<Key> router_keys() {
  return {
      one_of_key(
          "router", "Which replica serves a request, or prefills it; under distserve least-requests by default.",
          {router(RouterKind::kRoundRobin, "One after the other."), router(RouterKind::kRandom, "Any, equally likely."),
           router(RouterKind::kLeastRequests, "The fewest requests not ended."),
           router(RouterKind::kLeastTokens, "The fewest prompt tokens of requests not ended."),
           router(RouterKind::kShortestQueue, "The fewest requests waiting."), power_of_two_key(),
           router(RouterKind::kPrefixAffinity,
                  "By a hash of the prompt's first shared block, else of the session, else of the request."),
           shared_queue_key()})
          .with_default(router_name(RouterOptions{}.kind), default_router)
          .where([](const Experiment& e) { return !replica_needs(e.deployment.policy).places; },
                 "policy is not splitwise"),
      number_key("snapshot_age_s", "s", {0, kMostSeconds},
                 "The router sees loads as they were at the latest multiple of this; 0: as they are.",
                 [](Experiment& e, const Scalar& v) { e.deployment.snapshot_age_s = v.number; })
          .with_default("0")
          .where(sees_snapshots, "the router looks at loads")};
}

}  // namespace servecast::experiments
