#include "app/experiment/resolve.hpp"

#include <nlohmann/json.hpp>

#include "app/experiment/edit.hpp"
#include "app/experiment/keys.hpp"
#include "app/experiment/validate.hpp"

namespace servecast::experiments {
namespace {

using Json = nlohmann::ordered_json;

// A path is relative to what named it: the experiment's file or, for an override, the working directory.
std::string located(const std::string& path, const Node& node, const std::filesystem::path& file) {
  const bool in_file = node.file && *node.file == file.string();
  return in_file ? (file.parent_path() / path).string() : path;
}

bool looks_like_a_path(const std::string& text) {
  const auto ends = [&](const char* suffix) { return text.ends_with(suffix); };
  return text.find('/') != std::string::npos || ends(".json") || ends(".yaml") || ends(".yml");
}

class Resolver {
 public:
  explicit Resolver(Resolved& out) : out_(out) {}

  // `parent` is the nearest node above that was written.
  void visit(const Key& key, const Node* node, const Node& parent, const std::string& path, Json& into) {
    if (key.applies) {
      const bool applies = key.applies(out_.experiment);
      if (node != nullptr) out_.uses.push_back({path, node->place(path), applies, key.applies_where});
      if (!applies) return;
    }
    if (key.kind == Key::Kind::kSweep) return;
    if (key.kind == Key::Kind::kMap) return visit_map(key, node, parent, path, into);
    if (node == nullptr && key.fallback.empty()) {
      if (key.required) fail_missing(key, parent, path);
      return;
    }
    const auto fallback = [&] { return key.fallback_of ? key.fallback_of(out_.experiment) : key.fallback; };
    const Node value = node != nullptr ? *node : scalar_node(fallback(), parent);
    if (key.kind == Key::Kind::kOneOf) return visit_one_of(key, value, path, into[key.name]);
    into[key.name] = visit_scalar(key, value, path);
  }

  void visit_keys(const Key& key, const Node& node, const std::string& path, Json& into) {
    for (const Key& child : key.keys) visit(child, node.find(child.name), node, join_path(path, child.name), into);
  }

 private:
  [[noreturn]] static void fail_missing(const Key& key, const Node& parent, const std::string& path) {
    throw InputError(parent.place(path), "is missing", "expected " + expected(key));
  }

  void visit_map(const Key& key, const Node* node, const Node& parent, const std::string& path, Json& into) {
    if (node == nullptr && key.optional) return;
    if (node != nullptr && node->kind == Node::Kind::kList) return visit_items(key, *node, path, into);
    Node map = node != nullptr ? *node : map_node(parent);
    if (map.kind == Node::Kind::kScalar) {
      const Node path_alone = std::move(map);
      map = map_node(path_alone);
      map.entries.push_back({key.shorthand, path_alone.line, path_alone});
    }
    enter(key, map, path, into);
  }

  void visit_items(const Key& key, const Node& list, const std::string& path, Json& into) {
    Json all = Json::array();
    for (std::size_t i = 0; i < list.items.size(); ++i) {
      Json one = Json::object();
      enter(key, list.items[i], item_path(path, i), one);
      all.push_back(std::move(one[key.name]));
    }
    into[key.name] = std::move(all);
  }

  void enter(const Key& key, const Node& map, const std::string& path, Json& into) {
    if (key.assign) key.assign(out_.experiment, {});
    Json inner = Json::object();
    visit_keys(key, map, path, inner);
    const bool only_options_of_others = inner.empty() && !key.alternative;
    if (!only_options_of_others) into[key.name] = std::move(inner);
  }

  void visit_one_of(const Key& key, const Node& node, const std::string& path, Json& into) {
    into = Json::object();
    if (node.kind == Node::Kind::kScalar) {
      return enter(*key.find(node.text), map_node(node), join_path(path, node.text), into);
    }
    bool chosen = false;
    for (const Key& child : key.keys) {
      const Node* value = node.find(child.name);
      if (child.alternative && value == nullptr) continue;
      chosen = chosen || child.alternative;
      visit(child, value, node, join_path(path, child.name), into);
    }
    if (!chosen) throw InputError(node.place(path), "has no alternative", "expected " + expected(key));
  }

  Json visit_scalar(const Key& key, const Node& node, const std::string& path) {
    Scalar value = parse_scalar(key, node, path);
    if (key.kind == Key::Kind::kPath || (key.kind == Key::Kind::kNameOrPath && looks_like_a_path(value.text))) {
      value.text = located(value.text, node, out_.experiment.file);
      key.assign(out_.experiment, value);
      return std::filesystem::absolute(value.text).string();  // means the same wherever it is read again
    }
    if (key.assign) key.assign(out_.experiment, value);
    if (!key.word.empty() && value.text == key.word) return value.text;
    if (key.kind == Key::Kind::kBoolean) return value.flag;
    if (key.kind == Key::Kind::kNumber) return value.number;
    if (key.kind == Key::Kind::kInteger) return value.integer;
    return value.text;
  }

  Resolved& out_;
};

// What is loaded later is refused at the line that named it.
void remember_places(const Node& root, Experiment& experiment) {
  const std::string path = "deployment.topology";
  if (auto& topology = experiment.deployment.topology) {
    topology->place = nearest_node(root, split_path(path)).place(path);
  }
}

std::string default_name(const std::filesystem::path& file) {
  std::string name = file.stem().string();
  const std::string folder = std::filesystem::absolute(file).parent_path().filename().string();
  if (name == "experiment" && !folder.empty()) name = folder;
  for (char& c : name) {
    if (!is_name(std::string(1, c)) && c != '.') c = '-';
  }
  return is_name(name) ? name : "experiment";
}

}  // namespace

Resolved resolve(const Node& root, const std::filesystem::path& file) {
  Resolved out;
  out.experiment.file = file;
  Node named = root;
  if (named.find("name") == nullptr)
    named.entries.push_back({"name", root.line, scalar_node(default_name(file), root)});
  Json json = Json::object();
  Resolver(out).visit_keys(experiment_keys(), named, {}, json);
  remember_places(root, out.experiment);
  check_together(root, out.experiment, out.uses);
  out.text = json.dump(2);
  return out;
}

}  // namespace servecast::experiments
