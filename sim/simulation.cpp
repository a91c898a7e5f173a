#include "sim/simulation.hpp"

#include "sim/cluster.hpp"

namespace servecast {
namespace {

class OnlyReplica final : public Router {
 public:
  std::optional<ReplicaId> route(const RoutedRequest&, const RouterView&) override { return ReplicaId{0}; }
};

}  // namespace

RunResult simulate(const ClusterConfig& config, std::span<const ReplicaSpec> replicas, Router& router,
                   RequestTable& requests, ArrivalSource& source, const Progress& progress) {
  return Cluster(config, replicas, router, requests, source, progress).run();
}

RunResult simulate(const SimulationConfig& config, RequestTable& requests, ArrivalSource& source, Scheduler& scheduler,
                   StepExecutor& executor, RunObserver* observer, const Progress& progress) {
  OnlyReplica router;
  const ReplicaSpec replica{config.replica, &scheduler, &executor, observer};
  ClusterConfig cluster;
  cluster.horizon = config.horizon;
  return simulate(cluster, {&replica, 1}, router, requests, source, progress);
}

}  // namespace servecast
