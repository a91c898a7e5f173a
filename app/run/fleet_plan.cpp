#include "app/run/fleet_plan.hpp"

#include <algorithm>

#include "app/experiment/failures.hpp"

namespace servecast {
namespace {

ReplicaId number(int replica) { return ReplicaId{static_cast<std::uint32_t>(replica)}; }

}  // namespace

FleetPlan::FleetPlan(const DeploymentSection& deployment)
    : changes_(!deployment.failures.empty() || deployment.join || deployment.autoscaler) {
  const int first = static_cast<int>(there_at_first(deployment));
  for (int i = first; i < deployment.replicas; ++i) membership_.not_at_first.push_back(number(i));
  for (const PlannedFailure& planned : plan_failures(deployment)) {
    add_failure(deployment.failures[planned.section], planned.replicas);
  }
  if (deployment.join) add_join(*deployment.join);
  if (deployment.autoscaler) add_autoscaler(*deployment.autoscaler, deployment.replicas);
  std::stable_sort(membership_.changes.begin(), membership_.changes.end(),
                   [](const Change& a, const Change& b) { return a.at < b.at; });
}

// Those that fail are there at first: among those that an autoscaler never sends away.
void FleetPlan::add_failure(const FailureSection& failure, const std::vector<int>& replicas) {
  const SimTime at = kStart + from_seconds(failure.at_s);
  const RetryPolicy retry{from_seconds(failure.retry_after_s), failure.keep_tokens};
  for (const int i : replicas) {
    membership_.changes.push_back({at, ChangeKind::kFails, number(i), Duration{0}, retry});
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
