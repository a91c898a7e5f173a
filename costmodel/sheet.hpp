// A sheet of data in YAML (devices/, topologies/), read strictly: unknown and repeated keys are refused, every number
// has a unit and a source, and an error names file, line and field.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/error.hpp"

namespace servecast {

class SheetNode {
 public:
  using Names = std::vector<std::string>;

  // Throws InputError where it is not YAML.
  [[nodiscard]] static SheetNode parse(const std::string& yaml, const std::string& file);

  [[nodiscard]] InputPlace place() const;
  [[noreturn]] void fail(const std::string& problem, const std::string& hint = {}) const;

  // It must be a mapping with no other keys than these, each once.
  void check_keys(const Names& known) const;
  // It must be a mapping that repeats no key.
  [[nodiscard]] Names keys() const;
  [[nodiscard]] bool has(const std::string& key) const;
  // What stands at the key; it must be there.
  [[nodiscard]] SheetNode at(const std::string& key) const;
  // The same, a mapping with no other keys than these.
  [[nodiscard]] SheetNode open(const std::string& key, const Names& known) const;
  // The key itself: where its name is what is wrong.
  [[nodiscard]] SheetNode key_of(const std::string& key) const;
  // It must be a list.
  [[nodiscard]] std::vector<SheetNode> items() const;

  [[nodiscard]] std::string text(const std::string& key) const;
  // One of the names.
  [[nodiscard]] std::string choice(const std::string& key, const Names& names, const std::string& what) const;
  // In (0, limit].
  [[nodiscard]] double positive(const std::string& key, double limit = kLargest) const;
  // In [1, most].
  [[nodiscard]] std::int64_t whole(const std::string& key, std::int64_t most) const;
  // {value: 3.35e12, unit: B/s, source: "..."}
  [[nodiscard]] double quantity(const std::string& key, const std::string& unit, double limit = kLargest) const;
  // The same, 0 allowed.
  [[nodiscard]] double quantity_or_zero(const std::string& key, const std::string& unit, double limit) const;
  // {value: 0.8, source: "..."}, in (0, 1].
  [[nodiscard]] double share(const std::string& key) const;

  static constexpr double kLargest = 1e18;

 private:
  struct Tree;
  SheetNode(std::shared_ptr<const Tree> tree, std::string field);
  [[nodiscard]] std::string path(const std::string& key) const;
  // The entry of a quantity, its unit and source checked.
  [[nodiscard]] SheetNode open_quantity(const std::string& key, const std::string& unit) const;
  [[nodiscard]] double number(const std::string& key) const;

  std::shared_ptr<const Tree> tree_;
  std::string field_;  // "" at the top
};

// The whole file. Throws InputError where it cannot be opened.
[[nodiscard]] std::string read_sheet_file(const std::string& path);

// Throws InputError unless the sheet's own name, at `field`, is that of its file.
void check_sheet_name(const std::string& name, const std::string& path, const std::string& field);

}  // namespace servecast
