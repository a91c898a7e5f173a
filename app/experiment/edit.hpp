// Changes to what was written, by path: overrides of the command line, and the values of a sweep.
#pragma once

#include <span>

#include "app/experiment/key.hpp"

namespace servecast::experiments {

// Puts `value` at `path`, which the keys must know, in place of what is there. On the way a scalar becomes the
// map it stands for, and an alternative of a one-of gives way to the one that the path names. `root` must be a map.
void put(const Key& keys, Node& root, std::span<const std::string> path, Node value);

// What stands at `path`, or null. A scalar in place of a map has nothing below it.
[[nodiscard]] const Node* node_at(const Node& root, const Path& path);
// The same, or else the nearest node above.
[[nodiscard]] const Node& nearest_node(const Node& root, const Path& path);

// Whether a value put at `a` and one put at `b` would replace each other: one is at or above the other, or they
// lie in different alternatives of a one-of.
[[nodiscard]] bool collide(const Key& keys, const Path& a, const Path& b);

}  // namespace servecast::experiments
