#include "app/run/replica_set.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace servecast {

void ReplicaSet::add(const Deployment& deployment, const PlacedFleet* fleet) {
  for (int i = 0; i < deployment.replicas; ++i) {
    executors_.push_back(
        make_executor(deployment, fleet == nullptr ? std::nullopt : std::optional(fleet->placed(specs_.size()))));
    schedulers_.push_back(make_scheduler(deployment.policy, requests_, deployment.role));
    specs_.push_back({deployment.replica, schedulers_.back().get(), executors_.back().get(), nullptr});
    specs_.back().config.record_gaps_from = record_gaps_from_;
  }
}

// So many samples each, that a cluster keeps about as many as one replica would.
std::span<const ReplicaSpec> ReplicaSet::specs() {
  constexpr std::size_t kLeast = 64;
  const std::size_t each = std::max(kLeast, ReplicaConfig{}.most_samples / std::max<std::size_t>(1, specs_.size()));
  for (ReplicaSpec& spec : specs_) spec.config.most_samples = each;
  return specs_;
}

Pools::Pools(const PoolsSection& section, std::uint64_t seed, std::unique_ptr<TransferNetwork> network)
    : router_(make_router(section.decode_router, 0, {seed, "router.decode"})),
      network_(std::move(network)),
      disaggregation_{*router_, *network_} {}

namespace {

std::vector<SplitwiseDispatcher::Machine> machines_of(const Deployment& prompt, const Deployment& token) {
  std::vector<SplitwiseDispatcher::Machine> machines;
  const auto add = [&](const Deployment& pool, SplitwiseDispatcher::Pool kind) {
    const Tokens memory = pool.replica.block_size * pool.replica.usable_blocks.count();
    machines.insert(machines.end(), static_cast<std::size_t>(pool.replicas), {kind, memory});
  };
  add(prompt, SplitwiseDispatcher::Pool::kPrompt);
  add(token, SplitwiseDispatcher::Pool::kToken);
  return machines;
}

std::int64_t parts_of(const Deployment& deployment) {
  return std::get<SplitwiseOptions>(deployment.policy).layer_wise ? deployment.model.layer_count() : 1;
}

}  // namespace

PlacedPools::PlacedPools(const PoolsSection& section, const Deployment& prompt, const Deployment& token)
    : dispatcher_(std::get<SplitwiseOptions>(prompt.policy), machines_of(prompt, token)),
      links_(section.bytes_per_s, from_seconds(section.latency_s)),
      placing_{dispatcher_, links_, parts_of(prompt)} {}

}  // namespace servecast
