#include "app/run/fleet_plan.hpp"

#include <algorithm>

namespace servecast {
namespace {

ReplicaId number(int replica) { return ReplicaId{static_cast<std::uint32_t>(replica)}; }

}  // namespace

FleetPlan::FleetPlan(const DeploymentSection& deployment)
    : changes_(deployment.failure || deployment.join || deployment.autoscaler) {
  const int first = static_cast<int>(there_at_first(deployment));
  for (int i = first; i < deployment.replicas; ++i) membership_.not_at_first.push_back(number(i));
  if (deployment.failure) add_failure(*deployment.failure, first);
  if (deployment.join) add_join(*deployment.join);
  if (deployment.autoscaler) add_autoscaler(*deployment.autoscaler, deployment.replicas);
  std::stable_sort(membership_.changes.begin(), membership_.changes.end(),
                   [](const Change& a, const Change& b) { return a.at < b.at; });
}

// `there`: at first; they are among those that an autoscaler never sends away.
void FleetPlan::add_failure(const FailureSection& failure, int there) {
  const SimTime at = kStart + from_seconds(failure.at_s);
  membership_.retry = {from_seconds(failure.retry_after_s), failure.keep_tokens};
  for (int i = there - failure.replicas; i < there; ++i) {
    membership_.changes.push_back({at, ChangeKind::kFails, number(i)});
    if (!failure.back_after_s) continue;
    membership_.changes.push_back({after(at, from_seconds(*failure.back_after_s)), ChangeKind::kJoins, number(i)});
  }
}

void FleetPlan::add_join(const JoinSection& join) {
  const SimTime at = kStart + from_seconds(join.at_s);
  for (const ReplicaId id : membership_.not_at_first) {
    membership_.changes.push_back({at, ChangeKind::kJoins, id, from_seconds(join.cold_start_s)});
  }
}

void FleetPlan::add_autoscaler(const AutoscalerSection& section, int replicas) {
  TargetTrackingOptions options = section.options;
  options.most = replicas;
  membership_.autoscaler = &autoscaler_.emplace(options);
  membership_.look_every = from_seconds(section.every_s);
  membership_.provisioning = from_seconds(section.provisioning_s);
}

}  // namespace servecast
