#include "costmodel/sheet.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>
#include <yaml-cpp/yaml.h>

namespace servecast {

struct SheetNode::Tree {
  YAML::Node node;
  std::string file;
};

SheetNode::SheetNode(std::shared_ptr<const Tree> tree, std::string field)
    : tree_(std::move(tree)), field_(std::move(field)) {}

SheetNode SheetNode::parse(const std::string& yaml, const std::string& file) {
  try {
    return {std::make_shared<Tree>(Tree{YAML::Load(yaml), file}), {}};
  } catch (const YAML::Exception& error) {
    throw InputError({file, error.mark.line + 1, {}}, "is not valid YAML: " + error.msg);
  }
}

InputPlace SheetNode::place() const { return {tree_->file, tree_->node.Mark().line + 1, field_}; }

void SheetNode::fail(const std::string& problem, const std::string& hint) const {
  throw InputError(place(), problem, hint);
}

std::string SheetNode::path(const std::string& key) const { return field_.empty() ? key : field_ + "." + key; }

SheetNode::Names SheetNode::keys() const {
  if (!tree_->node.IsMap()) fail("must be a mapping");
  Names seen;
  for (const auto& entry : tree_->node) {
    const std::string key = entry.first.as<std::string>("");
    if (std::find(seen.begin(), seen.end(), key) != seen.end()) {
      throw InputError({tree_->file, entry.first.Mark().line + 1, path(key)}, "is given twice");
    }
    seen.push_back(key);
  }
  return seen;
}

void SheetNode::check_keys(const Names& known) const {
  for (const std::string& key : keys()) {
    if (std::find(known.begin(), known.end(), key) == known.end()) key_of(key).fail("unknown key", suggest(key, known));
  }
}

SheetNode SheetNode::key_of(const std::string& key) const {
  for (const auto& entry : tree_->node) {
    if (entry.first.as<std::string>("") == key) {
      return {std::make_shared<Tree>(Tree{entry.first, tree_->file}), path(key)};
    }
  }
  return {tree_, path(key)};
}

bool SheetNode::has(const std::string& key) const { return tree_->node[key].IsDefined(); }

SheetNode SheetNode::at(const std::string& key) const {
  if (!tree_->node.IsMap()) fail("must be a mapping");
  const YAML::Node value = tree_->node[key];
  if (!value.IsDefined() || value.IsNull()) SheetNode{tree_, path(key)}.fail("is missing");
  return {std::make_shared<Tree>(Tree{value, tree_->file}), path(key)};
}

SheetNode SheetNode::open(const std::string& key, const Names& known) const {
  SheetNode inner = at(key);
  inner.check_keys(known);
  return inner;
}

std::vector<SheetNode> SheetNode::items() const {
  if (!tree_->node.IsSequence()) fail("must be a list");
  std::vector<SheetNode> list;
  for (std::size_t i = 0; i < tree_->node.size(); ++i) {
    std::string name = field_;
    name.append("[").append(std::to_string(i)).append("]");
    list.push_back({std::make_shared<Tree>(Tree{tree_->node[i], tree_->file}), std::move(name)});
  }
  return list;
}

std::string SheetNode::text(const std::string& key) const {
  const SheetNode value = at(key);
  if (!value.tree_->node.IsScalar() || value.tree_->node.Scalar().empty()) value.fail("must be a text");
  return value.tree_->node.Scalar();
}

std::string SheetNode::choice(const std::string& key, const Names& names, const std::string& what) const {
  std::string chosen = text(key);
  if (std::find(names.begin(), names.end(), chosen) == names.end()) {
    std::string problem = "unknown ";
    problem.append(what).append(" '").append(chosen).append("'");
    at(key).fail(problem, suggest(chosen, names));
  }
  return chosen;
}

double SheetNode::number(const std::string& key) const {
  const SheetNode value = at(key);
  double number = 0;
  if (!value.tree_->node.IsScalar() || !YAML::convert<double>::decode(value.tree_->node, number) ||
      !std::isfinite(number)) {
    value.fail("must be a number");
  }
  return number;
}

double SheetNode::positive(const std::string& key, double limit) const {
  const double value = number(key);
  if (!(value > 0 && value <= limit)) {
    at(key).fail("is " + tree_->node[key].Scalar() + ", must be positive and in range");
  }
  return value;
}

std::int64_t SheetNode::whole(const std::string& key, std::int64_t most) const {
  const double value = positive(key, static_cast<double>(most));
  if (value != std::floor(value)) at(key).fail("must be a whole number");
  return static_cast<std::int64_t>(value);
}

SheetNode SheetNode::open_quantity(const std::string& key, const std::string& unit) const {
  SheetNode entry = open(key, {"value", "unit", "source"});
  if (entry.text("unit") != unit) entry.at("unit").fail("must be " + unit);
  (void)entry.text("source");  // a number without a source is not accepted
  return entry;
}

double SheetNode::quantity(const std::string& key, const std::string& unit, double limit) const {
  return open_quantity(key, unit).positive("value", limit);
}

double SheetNode::quantity_or_zero(const std::string& key, const std::string& unit, double limit) const {
  const SheetNode entry = open_quantity(key, unit);
  const double value = entry.number("value");
  if (value < 0) entry.at("value").fail("is " + entry.text("value") + ", must not be negative");
  return value == 0 ? 0 : entry.positive("value", limit);
}

double SheetNode::share(const std::string& key) const {
  const SheetNode entry = open(key, {"value", "source"});
  (void)entry.text("source");
  return entry.positive("value", 1);
}

std::string read_sheet_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in || std::filesystem::is_directory(path)) throw InputError({path, 0, {}}, "cannot be opened");
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void check_sheet_name(const std::string& name, const std::string& path, const std::string& field) {
  const std::string stem = std::filesystem::path(path).stem().string();
  if (name != stem) throw InputError({path, 0, field}, "must repeat the file's name, '" + stem + "'");
}

}  // namespace servecast
