#include "app/experiment/node.hpp"

#include <algorithm>
#include <utility>

namespace servecast::experiments {
namespace {

// Whether a plain scalar would read back as something else.
bool needs_quotes(const Node& node) {
  return node.quoted || node.text.empty() || node.text.find_first_of(":{}[],#&*!|>'\"%@`") != std::string::npos;
}

template <class Range, class Write>
std::string joined(const Range& range, char open, char close, Write write) {
  std::string text(1, open);
  for (const auto& each : range) text += (text.size() == 1 ? "" : ", ") + write(each);
  return text + close;
}

}  // namespace

const Node* Node::find(std::string_view key) const {
  const auto entry = std::find_if(entries.begin(), entries.end(), [&](const NodeEntry& e) { return e.key == key; });
  return entry == entries.end() ? nullptr : &entry->value;
}

Node* Node::find(std::string_view key) { return const_cast<Node*>(std::as_const(*this).find(key)); }

InputPlace Node::place(std::string field) const { return {file ? *file : std::string{}, line, std::move(field)}; }

Node empty_node(Node::Kind kind, std::shared_ptr<const std::string> file, long line) {
  Node node;
  node.kind = kind;
  node.file = std::move(file);
  node.line = line;
  return node;
}

Node scalar_node(std::string text, const Node& at) {
  Node node = empty_node(Node::Kind::kScalar, at.file, at.line);
  node.text = std::move(text);
  return node;
}

Node map_node(const Node& at) { return empty_node(Node::Kind::kMap, at.file, at.line); }

std::string written(const Node& node) {
  switch (node.kind) {
    case Node::Kind::kNull:
      return "~";
    case Node::Kind::kScalar:
      return needs_quotes(node) ? "'" + node.text + "'" : node.text;
    case Node::Kind::kList:
      return joined(node.items, '[', ']', [](const Node& item) { return written(item); });
    case Node::Kind::kMap:
      break;
  }
  return joined(node.entries, '{', '}', [](const NodeEntry& e) { return e.key + ": " + written(e.value); });
}

std::string found(const Node& node) {
  if (node.kind == Node::Kind::kNull) return "nothing";
  if (node.kind == Node::Kind::kList) return "a list";
  if (node.kind == Node::Kind::kMap) return "a map";
  constexpr std::size_t kShown = 60;
  std::string shown = node.quoted ? "the text '" : "'";
  for (const char c : node.text.substr(0, kShown)) shown += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
  return shown + (node.text.size() > kShown ? "…'" : "'");
}

}  // namespace servecast::experiments
