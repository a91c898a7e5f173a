#include "app/experiment/validate.hpp"

#include <set>

#include "app/experiment/keys.hpp"

namespace servecast::experiments {
namespace {

// "did you mean 'rate'?"; where no neighbour is close but the name is a key elsewhere, where it belongs.
std::string hint_for(const std::string& wrong, const Key& parent) {
  const std::string hint = suggest(wrong, parent.names());
  if (hint.starts_with("did you mean")) return hint;
  std::string elsewhere;
  for_each_key(experiment_keys(), [&](const Key& key, const std::string& path) {
    if (elsewhere.empty() && key.name == wrong) elsewhere = path;
  });
  if (!elsewhere.empty()) return "did you mean '" + elsewhere + "'?";
  return parent.keys.empty() ? "it takes no keys" : hint;
}

// Its known keys, each once.
void validate_entries(const Key& key, const Node& node, const std::string& path) {
  std::set<std::string_view> seen;
  for (const NodeEntry& entry : node.entries) {
    const std::string child_path = join_path(path, entry.key);
    const InputPlace place{node.file ? *node.file : std::string{}, entry.line, child_path};
    const Key* child = key.find(entry.key);
    if (child == nullptr) throw InputError(place, "unknown key", hint_for(entry.key, key));
    if (!seen.insert(entry.key).second) throw InputError(place, "is given twice");
    validate(*child, entry.value, child_path);
  }
}

[[noreturn]] void fail_kind(const Key& key, const Node& node, const std::string& path) {
  throw InputError(node.place(path), "expected " + expected(key) + ", found " + found(node));
}

void validate_alternative_name(const Key& key, const Node& node, const std::string& path) {
  const Key* alternative = key.find(node.text);
  if (alternative == nullptr || !alternative->alternative) {
    throw InputError(node.place(path), "unknown value " + found(node), suggest(node.text, key.alternatives()));
  }
  if (alternative->needs_nothing()) return;
  std::string needs;
  for (const Key& inner : alternative->keys) {
    if (inner.required) needs += (needs.empty() ? "" : ", ") + inner.name + ": …";
  }
  throw InputError(node.place(path), "'" + node.text + "' needs more than its name",
                   needs.empty() ? "write {" + node.text + ": …}" : "write {" + node.text + ": {" + needs + "}}");
}

void validate_one_of(const Key& key, const Node& node, const std::string& path) {
  if (node.kind == Node::Kind::kScalar) return validate_alternative_name(key, node, path);
  if (node.kind != Node::Kind::kMap) fail_kind(key, node, path);
  validate_entries(key, node, path);
  const NodeEntry* first = nullptr;
  for (const NodeEntry& entry : node.entries) {
    if (!key.find(entry.key)->alternative) continue;
    if (first != nullptr) {
      throw InputError({node.file ? *node.file : std::string{}, entry.line, path},
                       "has both '" + first->key + "' and '" + entry.key + "'", "expected one of them");
    }
    first = &entry;
  }
}

void validate_items(const Key& key, const Node& list, const std::string& path) {
  if (list.items.empty()) throw InputError(list.place(path), "has no items");
  for (std::size_t i = 0; i < list.items.size(); ++i) {
    const Node& item = list.items[i];
    if (item.kind != Node::Kind::kMap) fail_kind(key, item, item_path(path, i));
    validate_entries(key, item, item_path(path, i));
  }
}

}  // namespace

void validate(const Key& key, const Node& node, const std::string& path) {
  switch (key.kind) {
    case Key::Kind::kOneOf:
      return validate_one_of(key, node, path);
    case Key::Kind::kSweep:  // its own module checks it, see sweep.cpp
      return;
    case Key::Kind::kMap:
      if (node.kind == Node::Kind::kScalar && !key.shorthand.empty()) {
        return validate(*key.find(key.shorthand), node, path);
      }
      if (node.kind == Node::Kind::kList && key.listable) return validate_items(key, node, path);
      if (node.kind != Node::Kind::kMap) fail_kind(key, node, path);
      return validate_entries(key, node, path);
    default:
      static_cast<void>(parse_scalar(key, node, path));
  }
}

const Key& key_at(const Key& root, const Path& path, const InputPlace& place) {
  const Key* key = &root;
  std::string at;
  for (const std::string& part : path) {
    const Key* child = key->find(part);
    if (child == nullptr) {
      std::string problem = "unknown key '" + part + "'";
      if (!at.empty()) problem.append(" in '").append(at).append("'");
      throw InputError(place, problem, hint_for(part, *key));
    }
    key = child;
    at = join_path(at, part);
  }
  return *key;
}

}  // namespace servecast::experiments
