#include <algorithm>
#include <charconv>
#include <set>

#include "app/experiment/edit.hpp"
#include "app/experiment/keys.hpp"
#include "app/experiment/sweep.hpp"
#include "app/experiment/validate.hpp"

namespace servecast::experiments {
namespace {

const char* const kSweep = "sweep";

// Equal values written differently (4, 4.0) are the same point twice.
std::string identity(const Node& value) {
  double number = 0;
  const char* end = value.text.data() + value.text.size();
  const bool numeric = value.kind == Node::Kind::kScalar && !value.quoted && !value.text.empty() &&
                       std::from_chars(value.text.data(), end, number).ptr == end;
  return numeric ? decimal(number) : written(value);
}

void check_path(const Path& path, const InputPlace& place) {
  const Key& root = experiment_keys();
  static_cast<void>(key_at(root, path, place));
  if (path.front() == "servecast" || path.front() == kSweep) throw InputError(place, "cannot be swept");
  if (path == Path{"deployment", "options"}) {
    throw InputError(place, "cannot be swept as a whole", "sweep one policy's options: deployment.options.NAME");
  }
}

Axis take_axis(const NodeEntry& entry, const Node& sweep) {
  const std::string field = join_path(kSweep, entry.key);
  const InputPlace place{sweep.file ? *sweep.file : std::string{}, entry.line, field};
  const Path path = split_path(entry.key);
  check_path(path, place);
  if (entry.value.kind != Node::Kind::kList) {
    throw InputError(entry.value.place(field), "expected a list of values, found " + found(entry.value));
  }
  if (entry.value.items.empty()) throw InputError(entry.value.place(field), "has no values");
  std::set<std::string> seen;
  for (const Node& value : entry.value.items) {
    validate(key_at(experiment_keys(), path, place), value, field);
    if (!seen.insert(identity(value)).second) {
      throw InputError(value.place(field), "has " + written(value) + " twice");
    }
  }
  return {entry.key, entry.value.items};
}

}  // namespace

std::vector<Axis> take_axes(Node& root) {
  const Node* written_sweep = root.find(kSweep);
  if (written_sweep == nullptr) return {};
  const Node sweep = *written_sweep;
  std::erase_if(root.entries, [](const NodeEntry& entry) { return entry.key == kSweep; });
  if (sweep.kind != Node::Kind::kMap) {
    throw InputError(sweep.place(kSweep), "expected a map from paths to lists of values, found " + found(sweep));
  }
  std::vector<Axis> axes;
  for (const NodeEntry& entry : sweep.entries) {
    Axis axis = take_axis(entry, sweep);
    const InputPlace place{sweep.file ? *sweep.file : std::string{}, entry.line, join_path(kSweep, entry.key)};
    for (const Axis& before : axes) {
      if (before.path == axis.path) throw InputError(place, "is given twice");
      if (collide(experiment_keys(), split_path(before.path), split_path(axis.path))) {
        throw InputError(place, "would replace what the axis '" + before.path + "' sets");
      }
    }
    axes.push_back(std::move(axis));
  }
  return axes;
}

}  // namespace servecast::experiments
