#include "app/run/fleet_plan.hpp"

#include <algorithm>

namespace servecast {
namespace {

ReplicaId number(int replica) { return ReplicaId{static_cast<std::uint32_t>(replica)}; }

}  // namespace

FleetPlan::FleetPlan(const DeploymentSection& deployment)
    : changes_(deployment.failure || deployment.join || deployment.autoscaler) {
  if (deployment.failure) add_failure(*deployment.failure, deployment.replicas);
  if (deployment.join) add_join(*deployment.join, deployment.replicas);
  if (deployment.autoscaler) add_autoscaler(*deployment.autoscaler, deployment.replicas);
  std::stable_sort(membership_.changes.begin(), membership_.changes.end(),
                   [](const Change& a, const Change& b) { return a.at < b.at; });
}

void FleetPlan::add_failure(const FailureSection& failure, int replicas) {
  const SimTime at = kStart + from_seconds(failure.at_s);
  membership_.retry = {from_seconds(failure.retry_after_s), failure.keep_tokens};
  for (int i = replicas - failure.replicas; i < replicas; ++i) {
    membership_.changes.push_back({at, ChangeKind::kFails, number(i)});
    if (!failure.back_after_s) continue;
    membership_.changes.push_back({at + from_seconds(*failure.back_after_s), ChangeKind::kJoins, number(i)});
  }
}

void FleetPlan::add_join(const JoinSection& join, int replicas) {
  const SimTime at = kStart + from_seconds(join.at_s) + from_seconds(join.cold_start_s);
  for (int i = replicas - join.replicas; i < replicas; ++i) {
    membership_.not_at_first.push_back(number(i));
    membership_.changes.push_back({at, ChangeKind::kJoins, number(i)});
  }
}

void FleetPlan::add_autoscaler(const AutoscalerSection& section, int replicas) {
  TargetTrackingOptions options = section.options;
  options.most = replicas;
  membership_.autoscaler = &autoscaler_.emplace(options);
  membership_.look_every = from_seconds(section.every_s);
  membership_.provisioning = from_seconds(section.provisioning_s);
  for (int i = static_cast<int>(options.least); i < replicas; ++i) membership_.not_at_first.push_back(number(i));
}

}  // namespace servecast
