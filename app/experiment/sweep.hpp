// The grid that `sweep:` spans.
#pragma once

#include <string>
#include <vector>

#include "app/experiment/experiment.hpp"
#include "app/experiment/node.hpp"

namespace servecast::experiments {

struct Axis {
  std::string path;
  std::vector<Node> values;
};

// Takes `sweep` out of the root. Throws InputError for unknown paths, wrong, repeated or missing values, and axes
// that would replace each other.
[[nodiscard]] std::vector<Axis> take_axes(Node& root);

// Every point, the first axis slowest. Points that differ only in a key that has no meaning there are one point.
// Throws InputError that names the point, or for what has a meaning at none of them.
[[nodiscard]] std::vector<GridPoint> make_grid(const Node& root, const std::vector<Axis>& axes,
                                               const std::filesystem::path& file);

}  // namespace servecast::experiments
