// Which replicas an experiment's failures take.
#pragma once

#include <cstddef>
#include <vector>

#include "app/experiment/experiment.hpp"

namespace servecast {

struct PlannedFailure {
  std::size_t section;        // of deployment.failures
  std::vector<int> replicas;  // numbers as the cluster has them; fewer than asked where there are not so many
  int there = 0;              // replicas of its pool just before it, of those that are there at first
  int left = 0;               // those that are there just after it, or come back
};

// In order of time. Each takes the ones with the highest numbers of those that are there at first and have not failed
// before, or are back.
[[nodiscard]] std::vector<PlannedFailure> plan_failures(const DeploymentSection& deployment);

}  // namespace servecast
