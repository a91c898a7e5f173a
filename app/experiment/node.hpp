// A YAML document as plain data: what was written, and where.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/error.hpp"

namespace servecast::experiments {

struct NodeEntry;

struct Node {
  enum class Kind : std::uint8_t { kNull, kScalar, kList, kMap };
  Kind kind = Kind::kNull;
  std::string text;     // of a scalar
  bool quoted = false;  // a scalar in quotes is text, whatever it looks like
  std::vector<Node> items;
  std::vector<NodeEntry> entries;  // in the order of the file; duplicates are kept for the validator to refuse
  std::shared_ptr<const std::string> file;
  long line = 0;  // 1-based; 0 for overrides

  [[nodiscard]] const Node* find(std::string_view key) const;
  [[nodiscard]] Node* find(std::string_view key);
  [[nodiscard]] InputPlace place(std::string field) const;
};

struct NodeEntry {
  std::string key;
  long line = 0;
  Node value;
};

[[nodiscard]] Node empty_node(Node::Kind kind, std::shared_ptr<const std::string> file, long line);
// A scalar or an empty map made here, at the place of `at`.
[[nodiscard]] Node scalar_node(std::string text, const Node& at);
[[nodiscard]] Node map_node(const Node& at);

// As YAML would have it on one line: "8", "{token_budget: 256}".
[[nodiscard]] std::string written(const Node& node);

// For "…, found 'abc'": names the node without letting a huge one flood the message.
[[nodiscard]] std::string found(const Node& node);

// The only document of a YAML text. `file` and, with lines, the line go into every node's place.
// Throws InputError for bad syntax, several documents, tags, and documents too large or deep to be meant.
// An empty text gives a null node.
[[nodiscard]] Node parse_yaml(const std::string& text, const std::string& file, bool with_lines = true);

// Reads the whole file. Throws InputError when it cannot be read or is no text.
[[nodiscard]] std::string read_text(const std::filesystem::path& file);

}  // namespace servecast::experiments
