#include <algorithm>
#include <map>

#include "app/experiment/edit.hpp"
#include "app/experiment/keys.hpp"
#include "app/experiment/resolve.hpp"
#include "app/experiment/sweep.hpp"

namespace servecast::experiments {
namespace {

constexpr std::size_t kMostPoints = 100'000;

// The indices of a point's values, counted up like digits, the last axis fastest.
using Indices = std::vector<std::size_t>;

bool advance(Indices& at, const std::vector<Axis>& axes) {
  for (std::size_t i = axes.size(); i-- > 0;) {
    if (++at[i] < axes[i].values.size()) return true;
    at[i] = 0;
  }
  return false;
}

void check_size(const std::vector<Axis>& axes, const Node& root) {
  std::size_t points = 1;
  for (const Axis& axis : axes) {
    points *= axis.values.size();
    if (points > kMostPoints) {
      throw InputError(root.place("sweep"), "spans more than " + std::to_string(kMostPoints) + " points");
    }
  }
}

std::string point_name(const std::vector<Axis>& axes, const Indices& at) {
  std::string name;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    name += (i == 0 ? "" : ", ") + axes[i].path + "=" + written(axes[i].values[at[i]]);
  }
  return name;
}

bool has_meaning(const std::string& path, const std::vector<Use>& uses) {
  return std::none_of(uses.begin(), uses.end(), [&](const Use& use) {
    return !use.used && (path == use.path || path.starts_with(use.path + "."));
  });
}

class Grid {
 public:
  Grid(const Node& root, const std::vector<Axis>& axes, const std::filesystem::path& file)
      : root_(root), axes_(axes), file_(file) {}

  std::vector<GridPoint> make() {
    check_size(axes_, root_);
    Indices at(axes_.size(), 0);
    do add(at);
    while (advance(at, axes_));
    check_uses();
    return std::move(points_);
  }

 private:
  void add(const Indices& at) {
    Resolved resolved = resolve_at(at);
    for (const Use& use : resolved.uses) {
      const auto [known, is_new] = uses_.try_emplace(use.path, use);
      known->second.used = known->second.used || use.used;
    }
    GridPoint point;
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      const bool meant = has_meaning(axes_[i].path, resolved.uses);
      if (!meant && at[i] != 0) return;  // the same run as with the axis' first value
      point.axes.emplace_back(axes_[i].path, meant ? written(axes_[i].values[at[i]]) : "-");
    }
    point.experiment = std::move(resolved.experiment);
    point.resolved = std::move(resolved.text);
    points_.push_back(std::move(point));
  }

  [[nodiscard]] Resolved resolve_at(const Indices& at) const {
    Node root = root_;
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      put(experiment_keys(), root, split_path(axes_[i].path), axes_[i].values[at[i]]);
    }
    try {
      return resolve(root, file_);
    } catch (const InputError& error) {
      if (axes_.empty()) throw;
      throw InputError({}, error.what(), "at the point " + point_name(axes_, at));
    }
  }

  void check_uses() const {
    for (const auto& [path, use] : uses_) {
      if (use.used) continue;
      const std::string scope = axes_.empty() ? "has no effect" : "has no effect at any point of the sweep";
      throw InputError(use.place, scope, "it applies only where " + use.where);
    }
  }

  const Node& root_;
  const std::vector<Axis>& axes_;
  const std::filesystem::path& file_;
  std::map<std::string, Use> uses_;
  std::vector<GridPoint> points_;
};

}  // namespace

std::vector<GridPoint> make_grid(const Node& root, const std::vector<Axis>& axes, const std::filesystem::path& file) {
  return Grid(root, axes, file).make();
}

}  // namespace servecast::experiments
