// The question a router answers: which replica serves this request? It is asked once for each arrival, and sees
// requests and replicas as a real router does: no output length, and loads as old as the cluster's snapshots are.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/replica_id.hpp"
#include "sim/request.hpp"
#include "sim/router_view.hpp"

namespace servecast {

struct RoutedRequest {
  RequestId id;
  SimTime arrived_at;
  Tokens prompt;
  Tokens max_tokens;       // the client's cap
  std::uint64_t affinity;  // equal for requests that share a prefix or a session; of a lone one its own
};

class Router {
 public:
  virtual ~Router() = default;

  // The load by which it compares replicas; nothing when it looks at none of them.
  [[nodiscard]] virtual std::optional<Load> looks_at() const { return std::nullopt; }

  // Whether it may answer nothing. The request then waits in the cluster, first come, first served, and the router is
  // asked about the first again whenever a request has ended.
  [[nodiscard]] virtual bool holds() const { return false; }

  // One of the replicas in `view`, which has at least one.
  virtual std::optional<ReplicaId> route(const RoutedRequest& request, const RouterView& view) = 0;
};

}  // namespace servecast
