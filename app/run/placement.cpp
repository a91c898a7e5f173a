#include "app/run/placement.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <utility>

#include "app/run/deployment.hpp"
#include "sim/error.hpp"

namespace servecast {
namespace {

constexpr std::size_t kMostPlacements = 10'000;

std::vector<ReplicaGroup> groups_on(int gpus) {
  std::vector<ReplicaGroup> groups;
  for (int split = 1; split <= gpus; ++split) {
    for (int replicas = 1; replicas * split <= gpus; ++replicas) groups.push_back({replicas, split});
  }
  return groups;
}

// Why an experiment can't have one such replica in that role; nothing where it can.
std::optional<std::string> refusal(Experiment experiment, Role role, int split) {
  DeploymentSection& deployment = experiment.deployment;
  deployment.tensor_parallel = split;
  if (deployment.pools) deployment.pools->prefill.tensor_parallel = deployment.pools->decode.tensor_parallel = split;
  experiment.file.clear();  // every message would begin with it
  try {
    (void)plan_deployment(experiment, role);
    return std::nullopt;
  } catch (const InputError& error) {
    const char* who = role == Role::kPrefill ? "prefill " : role == Role::kDecode ? "decode " : "";
    return fmt::format("{}over {}: {}", who, split, error.what());
  }
}

// Remembers what it found of each role and split.
class Planner {
 public:
  explicit Planner(const std::vector<GridPoint>& points) : points_(points) {}

  // Of the first point that has one.
  const std::optional<std::string>& refusal_of(Role role, int split) {
    const auto [known, is_new] = known_.try_emplace({role, split});
    if (!is_new) return known->second;
    for (const GridPoint& point : points_) {
      if (!known->second) known->second = refusal(point.experiment, role, split);
    }
    return known->second;
  }

 private:
  const std::vector<GridPoint>& points_;
  std::map<std::pair<Role, int>, std::optional<std::string>> known_;
};

void leave_out(const std::string& why, std::vector<LeftOut>& left_out) {
  const auto same = std::find_if(left_out.begin(), left_out.end(), [&](const LeftOut& l) { return l.why == why; });
  if (same != left_out.end()) {
    ++same->placements;
  } else {
    left_out.push_back({why, 1});
  }
}

bool decided_by_placement(const std::string& path) {
  return path.starts_with("deployment.") && (path.ends_with(".tensor_parallel") || path.ends_with(".replicas")) &&
         !path.starts_with("deployment.failure") && !path.starts_with("deployment.join");
}

void add_points(const Placement& placement, Study at, Study& all) {
  const bool pools = placement.decode.has_value();
  std::vector<std::pair<std::string, std::string>> axes{{pools ? "prefill" : "replicas", describe(placement.prefill)}};
  if (pools) axes.emplace_back("decode", describe(*placement.decode));
  if (all.points.empty()) {
    for (const auto& [name, value] : axes) all.axes.push_back(name);
    all.axes.insert(all.axes.end(), at.axes.begin(), at.axes.end());
  }
  for (GridPoint& point : at.points) {
    point.axes.insert(point.axes.begin(), axes.begin(), axes.end());
    all.points.push_back(std::move(point));
  }
}

std::string reasons(const std::vector<LeftOut>& left_out) {
  std::vector<std::string> texts;
  for (const LeftOut& each : left_out) texts.push_back(each.why);
  return fmt::format("{}", fmt::join(texts, "; "));
}

}  // namespace

std::string describe(const ReplicaGroup& group) {
  return fmt::format("{} x TP{}", group.replicas, group.tensor_parallel);
}

std::vector<Placement> placements_on(int gpus, bool pools) {
  std::vector<Placement> all;
  for (const ReplicaGroup& prefill : groups_on(gpus)) {
    if (!pools) {
      all.push_back({prefill, std::nullopt});
      continue;
    }
    for (const ReplicaGroup& decode : groups_on(gpus - prefill.gpus())) all.push_back({prefill, decode});
    if (all.size() > kMostPlacements) {
      throw InputError({{}, 0, "--placement"},
                       fmt::format("{} GPUs can be used in more than {} ways", gpus, kMostPlacements));
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const Placement& a, const Placement& b) { return a.gpus() < b.gpus(); });
  return all;
}

PlacementChoice choose_placements(const std::vector<GridPoint>& points, int gpus) {
  const bool pools = points.front().experiment.deployment.pools.has_value();
  Planner planner(points);
  PlacementChoice choice;
  for (const Placement& placement : placements_on(gpus, pools)) {
    const Role first = pools ? Role::kPrefill : Role::kBoth;
    const std::optional<std::string>& refused = planner.refusal_of(first, placement.prefill.tensor_parallel);
    if (refused) {
      leave_out(*refused, choice.left_out);
    } else if (const auto* decode = placement.decode ? &*placement.decode : nullptr;
               decode != nullptr && planner.refusal_of(Role::kDecode, decode->tensor_parallel)) {
      leave_out(*planner.refusal_of(Role::kDecode, decode->tensor_parallel), choice.left_out);
    } else {
      choice.fitting.push_back(placement);
    }
  }
  return choice;
}

std::vector<std::string> overrides_of(const Placement& placement) {
  if (!placement.decode) {
    return {fmt::format("deployment.replicas={}", placement.prefill.replicas),
            fmt::format("deployment.tensor_parallel={}", placement.prefill.tensor_parallel)};
  }
  return {fmt::format("deployment.pools.prefill.replicas={}", placement.prefill.replicas),
          fmt::format("deployment.pools.prefill.tensor_parallel={}", placement.prefill.tensor_parallel),
          fmt::format("deployment.pools.decode.replicas={}", placement.decode->replicas),
          fmt::format("deployment.pools.decode.tensor_parallel={}", placement.decode->tensor_parallel)};
}

PlacementStudy study_placements(const std::filesystem::path& file, const std::vector<std::string>& overrides,
                                int gpus) {
  const Study asked = load_study(file, overrides);
  for (const std::string& axis : asked.axes) {
    if (decided_by_placement(axis)) throw InputError({file.string(), 0, axis}, "is swept, and --placement decides it");
  }
  const Experiment& first = asked.points.front().experiment;
  for (const GridPoint& point : asked.points) {
    if (point.experiment.deployment.pools.has_value() != first.deployment.pools.has_value()) {
      throw InputError({file.string(), 0, "deployment.pools"}, "are at some points of the sweep only",
                       "search placements of one kind at a time");
    }
  }
  PlacementChoice choice = choose_placements(asked.points, gpus);
  if (choice.fitting.empty()) {
    throw InputError({file.string(), 0, "--placement"}, fmt::format("nothing fits {} GPUs", gpus),
                     reasons(choice.left_out));
  }
  PlacementStudy found{{asked.file, asked.text, {}, {}}, std::move(choice.left_out)};
  for (const Placement& placement : choice.fitting) {
    std::vector<std::string> changes = overrides;
    for (std::string& change : overrides_of(placement)) changes.push_back(std::move(change));
    add_points(placement, load_study(file, changes), found.study);
  }
  return found;
}

}  // namespace servecast
