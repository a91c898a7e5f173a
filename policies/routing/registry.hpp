// The routers by name, with their options.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/router.hpp"

namespace servecast {

enum class RouterKind : std::uint8_t {
  kRoundRobin,
  kRandom,
  kLeastRequests,
  kLeastTokens,
  kShortestQueue,
  kPowerOfTwo,
  kPrefixAffinity,
  kSharedQueue,
};

struct RouterOptions {
  RouterKind kind = RouterKind::kRoundRobin;
  Load load = Load::kRequests;        // power-of-two: what it compares
  std::optional<std::int64_t> slots;  // shared-queue: requests that a replica holds at most; absent: those it runs
};

// "round-robin", "random", "least-requests", "least-tokens", "join-shortest-queue", "power-of-two", "prefix-affinity",
// "shared-queue"; in the order of RouterKind.
[[nodiscard]] const std::vector<std::string>& router_names();
[[nodiscard]] const std::string& router_name(RouterKind kind);
// Requires one of router_names().
[[nodiscard]] RouterKind router_kind(std::string_view name);
// "requests", "tokens", "waiting"; in the order of Load.
[[nodiscard]] const std::vector<std::string>& load_names();

// Where a router's draws come from: stream(seed, purpose).
struct RouterDraws {
  std::uint64_t seed = 1;
  std::string_view purpose = "router";
};

// `replica_runs`: the most requests that one replica runs at once.
[[nodiscard]] std::unique_ptr<Router> make_router(const RouterOptions& options, std::int64_t replica_runs,
                                                  const RouterDraws& draws = {});

}  // namespace servecast
