#include "app/run/placement.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <tuple>
#include <utility>

#include "app/run/deployment.hpp"
#include "sim/error.hpp"

namespace servecast {
namespace {

constexpr std::size_t kMostPlacements = 10'000;

std::vector<ReplicaGroup> groups_on(int gpus) {
  std::vector<ReplicaGroup> groups;
  for (int split = 1; split <= gpus; ++split) {
    for (int stages = 1; split * stages <= gpus; ++stages) {
      for (int replicas = 1; replicas * split * stages <= gpus; ++replicas) groups.push_back({replicas, split, stages});
    }
  }
  return groups;
}

std::string split_of(const ReplicaGroup& group) {
  return fmt::format("TP{}", group.tensor_parallel) +
         (group.pipeline_parallel > 1 ? fmt::format(" PP{}", group.pipeline_parallel) : "");
}

// Why an experiment can't have one such replica in that role; nothing where it can.
std::optional<std::string> refusal(Experiment experiment, Role role, const ReplicaGroup& group) {
  DeploymentSection& deployment = experiment.deployment;
  deployment.tensor_parallel = group.tensor_parallel;
  deployment.pipeline_parallel = group.pipeline_parallel;
  if (deployment.pools) {
    for (PoolSection* pool : {&deployment.pools->prefill, &deployment.pools->decode}) {
      pool->tensor_parallel = group.tensor_parallel;
      pool->pipeline_parallel = group.pipeline_parallel;
    }
  }
  experiment.file.clear();  // every message would begin with it
  try {
    (void)plan_deployment(experiment, role);
    return std::nullopt;
  } catch (const InputError& error) {
    const char* who = role == Role::kPrefill ? "prefill " : role == Role::kDecode ? "decode " : "";
    return fmt::format("{}{}: {}", who, split_of(group), error.what());
  }
}

// Remembers what it found of each role and split.
class Planner {
 public:
  explicit Planner(const std::vector<GridPoint>& points) : points_(points) {}

  // Of the first point that has one.
  const std::optional<std::string>& refusal_of(Role role, const ReplicaGroup& group) {
    const auto [known, is_new] = known_.try_emplace({role, group.tensor_parallel, group.pipeline_parallel});
    if (!is_new) return known->second;
    for (const GridPoint& point : points_) {
      if (!known->second) known->second = refusal(point.experiment, role, group);
    }
    return known->second;
  }

 private:
  const std::vector<GridPoint>& points_;
  std::map<std::tuple<Role, int, int>, std::optional<std::string>> known_;
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
  return path.starts_with("deployment.") && (path.ends_with("_parallel") || path.ends_with(".replicas")) &&
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

std::string describe(const ReplicaGroup& group) { return fmt::format("{} x {}", group.replicas, split_of(group)); }

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
    const std::optional<std::string>& refused = planner.refusal_of(first, placement.prefill);
    if (refused) {
      leave_out(*refused, choice.left_out);
    } else if (const auto* decode = placement.decode ? &*placement.decode : nullptr;
               decode != nullptr && planner.refusal_of(Role::kDecode, *decode)) {
      leave_out(*planner.refusal_of(Role::kDecode, *decode), choice.left_out);
    } else {
      choice.fitting.push_back(placement);
    }
  }
  return choice;
}

std::vector<std::string> overrides_of(const Placement& placement) {
  std::vector<std::string> overrides;
  const auto add = [&](const std::string& where, const ReplicaGroup& group) {
    overrides.push_back(fmt::format("{}.replicas={}", where, group.replicas));
    overrides.push_back(fmt::format("{}.tensor_parallel={}", where, group.tensor_parallel));
    overrides.push_back(fmt::format("{}.pipeline_parallel={}", where, group.pipeline_parallel));
  };
  add(placement.decode ? "deployment.pools.prefill" : "deployment", placement.prefill);
  if (placement.decode) add("deployment.pools.decode", *placement.decode);
  return overrides;
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
