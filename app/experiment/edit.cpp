#include "app/experiment/edit.hpp"

#include <algorithm>

namespace servecast::experiments {
namespace {

void make_map(const Key& key, Node& node, const Node& at) {
  if (node.kind == Node::Kind::kMap) return;
  if (node.kind == Node::Kind::kList) {
    throw InputError(at.place(key.name), "is a list: its items' keys cannot be set one by one", "set the whole list");
  }
  Node map = map_node(at);
  if (node.kind == Node::Kind::kScalar && key.kind == Key::Kind::kOneOf) {
    map.entries.push_back({node.text, node.line, map_node(node)});
  } else if (node.kind == Node::Kind::kScalar && !key.shorthand.empty()) {
    map.entries.push_back({key.shorthand, node.line, node});
  }
  node = std::move(map);
}

void drop_other_alternatives(const Key& key, Node& node, const std::string& chosen) {
  std::erase_if(node.entries, [&](const NodeEntry& entry) {
    const Key* other = key.find(entry.key);
    return entry.key != chosen && other != nullptr && other->alternative;
  });
}

}  // namespace

void put(const Key& keys, Node& root, std::span<const std::string> path, Node value) {
  if (path.empty()) {
    root = std::move(value);
    return;
  }
  const std::string& name = path.front();
  const Key& child = *keys.find(name);
  make_map(keys, root, value);
  if (child.alternative) drop_other_alternatives(keys, root, name);
  if (root.find(name) == nullptr)
    root.entries.push_back({name, value.line, empty_node(Node::Kind::kNull, value.file, value.line)});
  put(child, *root.find(name), path.subspan(1), std::move(value));
}

const Node* node_at(const Node& root, const Path& path) {
  const Node* node = &root;
  for (const std::string& name : path) {
    node = node->find(name);
    if (node == nullptr) return nullptr;
  }
  return node;
}

const Node& nearest_node(const Node& root, const Path& path) {
  const Node* node = &root;
  for (const std::string& name : path) {
    const Node* child = node->find(name);
    if (child == nullptr) break;
    node = child;
  }
  return *node;
}

bool collide(const Key& keys, const Path& a, const Path& b) {
  const Key* key = &keys;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (a[i] != b[i]) return key->find(a[i])->alternative && key->find(b[i])->alternative;
    key = key->find(a[i]);
  }
  return true;
}

}  // namespace servecast::experiments
