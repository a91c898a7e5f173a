#include <span>

#include "app/experiment/edit.hpp"
#include "app/experiment/experiment.hpp"
#include "app/experiment/keys.hpp"
#include "app/experiment/sweep.hpp"
#include "app/experiment/validate.hpp"

namespace servecast {

using namespace experiments;

namespace {

const char* const kOverride = "--set";

void check_version(const Node& root) {
  const Node* version = root.find("servecast");
  if (version == nullptr) {
    throw InputError(root.place("servecast"), "is missing", "an experiment begins with 'servecast: 1'");
  }
  if (version->kind != Node::Kind::kScalar || version->text != "1" || version->quoted) {
    throw InputError(version->place("servecast"), "version " + found(*version) + " is not known", "expected 1");
  }
}

Node parse_experiment(const std::string& text, const std::filesystem::path& file) {
  Node root = parse_yaml(text, file.string());
  if (root.kind == Node::Kind::kNull) {
    throw InputError({file.string(), 0, {}}, "is empty", "an experiment begins with 'servecast: 1'");
  }
  if (root.kind != Node::Kind::kMap) {
    throw InputError(root.place({}), "expected an experiment, found " + found(root),
                     "an experiment begins with 'servecast: 1'");
  }
  check_version(root);
  validate(experiment_keys(), root, {});
  return root;
}

struct Override {
  std::string path;
  Node value;
};

Override parse_override(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw InputError({kOverride, 0, {}}, "'" + text + "' is not an override", "expected path=value");
  }
  return {text.substr(0, equals), parse_yaml(text.substr(equals + 1), kOverride, false)};
}

// An axis is one key of `sweep`, dots and all.
void apply_to_sweep(const Override& change, Node& root) {
  const std::string axis = change.path.substr(std::string("sweep.").size());
  if (root.find("sweep") == nullptr) root.entries.push_back({"sweep", 0, map_node(change.value)});
  Node& sweep = *root.find("sweep");
  if (Node* existing = sweep.find(axis)) {
    *existing = change.value;
  } else {
    sweep.entries.push_back({axis, 0, change.value});
  }
}

void apply(const Override& change, Node& root) {
  if (change.path.starts_with("sweep.")) return apply_to_sweep(change, root);
  const Path path = split_path(change.path);
  const Key& key = key_at(experiment_keys(), path, {kOverride, 0, change.path});
  validate(key, change.value, change.path);
  put(experiment_keys(), root, path, change.value);
}

// Whether the sweep sets what `change` set. A value above an axis keeps what the axis leaves, but not in a one-of,
// where the axis chooses the alternative.
bool is_replaced(const Override& change, const Axis& axis) {
  const Path path = split_path(change.path);
  if (!collide(experiment_keys(), path, split_path(axis.path))) return false;
  const bool above = axis.path.starts_with(change.path + ".");
  return !above || key_at(experiment_keys(), path, {}).kind == Key::Kind::kOneOf;
}

// A value that the sweep replaces would be ignored without a word.
void check_not_swept(const Override& change, const std::vector<Axis>& axes) {
  if (change.path == "sweep" || change.path.starts_with("sweep.")) return;
  for (const Axis& axis : axes) {
    if (!is_replaced(change, axis)) continue;
    throw InputError({kOverride, 0, change.path}, "is replaced by the axis '" + axis.path + "'",
                     "set sweep." + axis.path + "=[…] instead");
  }
}

}  // namespace

Study load_study(const std::filesystem::path& file, const std::vector<std::string>& overrides) {
  Study study;
  study.file = file;
  study.text = read_text(file);
  Node root = parse_experiment(study.text, file);
  std::vector<Override> changes;
  for (const std::string& text : overrides) {
    changes.push_back(parse_override(text));
    apply(changes.back(), root);
  }
  check_version(root);
  const std::vector<Axis> axes = take_axes(root);
  for (const Override& change : changes) check_not_swept(change, axes);
  for (const Axis& axis : axes) study.axes.push_back(axis.path);
  study.points = make_grid(root, axes, file);
  return study;
}

}  // namespace servecast
