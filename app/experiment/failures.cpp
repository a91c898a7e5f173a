#include "app/experiment/failures.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

namespace servecast {
namespace {

struct Numbers {
  int first, end;
};

// Of the replicas of a failure's pool that are there at first.
Numbers numbers_of(const FailureSection& failure, const DeploymentSection& deployment) {
  if (!deployment.pools) return {0, static_cast<int>(there_at_first(deployment))};
  const int prefill = deployment.pools->prefill.replicas;
  if (failure.pool == Role::kPrefill) return {0, prefill};
  return {prefill, prefill + deployment.pools->decode.replicas};
}

constexpr double kNeverBack = std::numeric_limits<double>::infinity();

}  // namespace

std::vector<PlannedFailure> plan_failures(const DeploymentSection& deployment) {
  std::vector<std::size_t> in_time(deployment.failures.size());
  std::iota(in_time.begin(), in_time.end(), std::size_t{0});
  std::stable_sort(in_time.begin(), in_time.end(), [&](std::size_t a, std::size_t b) {
    return deployment.failures[a].at_s < deployment.failures[b].at_s;
  });
  std::map<int, double> back_at;  // of those that have failed
  std::vector<PlannedFailure> planned;
  for (const std::size_t section : in_time) {
    const FailureSection& failure = deployment.failures[section];
    PlannedFailure& plan = planned.emplace_back(PlannedFailure{section, {}});
    const double back = failure.back_after_s ? failure.at_s + *failure.back_after_s : kNeverBack;
    const auto [first, end] = numbers_of(failure, deployment);
    for (int number = end; number-- > first;) {
      const auto failed = back_at.find(number);
      if (failed != back_at.end() && failed->second > failure.at_s) {
        if (failed->second < kNeverBack) ++plan.left;
        continue;
      }
      ++plan.there;
      const bool fails = static_cast<int>(plan.replicas.size()) < failure.replicas;
      if (fails) {
        plan.replicas.push_back(number);
        back_at[number] = back;
      }
      if (!fails || back < kNeverBack) ++plan.left;
    }
    std::reverse(plan.replicas.begin(), plan.replicas.end());
  }
  return planned;
}

}  // namespace servecast
