#include "app/run/replica_set.hpp"

#include <algorithm>

namespace servecast {
namespace {

// So many samples each, that a cluster keeps about as many as one replica would.
std::size_t samples_each(const ReplicaConfig& config, int replicas) {
  constexpr std::size_t kLeast = 64;
  return std::max(kLeast, config.most_samples / static_cast<std::size_t>(replicas));
}

}  // namespace

ReplicaSet::ReplicaSet(const Deployment& deployment, int replicas, SimTime record_gaps_from,
                       const RequestTable& requests) {
  ReplicaConfig config = deployment.replica;
  config.record_gaps_from = record_gaps_from;
  config.most_samples = samples_each(config, replicas);
  for (int i = 0; i < replicas; ++i) {
    models_.push_back(make_cost_model(deployment));
    executors_.push_back(std::make_unique<PredictedExecutor>(*models_.back()));
    schedulers_.push_back(make_scheduler(deployment.policy, requests));
    specs_.push_back({config, schedulers_.back().get(), executors_.back().get(), nullptr});
  }
}

}  // namespace servecast
