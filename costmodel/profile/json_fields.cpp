#include "costmodel/profile/json_fields.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "sim/error.hpp"

namespace servecast {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kLongestShown = 60;

}  // namespace

struct JsonFields::Tree {
  std::shared_ptr<const Json> root;
  const Json* node = nullptr;
  std::string file;
};

JsonFields::JsonFields(std::shared_ptr<const Tree> tree, std::string field)
    : tree_(std::move(tree)), field_(std::move(field)) {}

JsonFields JsonFields::parse(std::string_view json, const std::string& file) {
  try {
    const auto root = std::make_shared<const Json>(Json::parse(json));
    return {std::make_shared<const Tree>(Tree{root, root.get(), file}), {}};
  } catch (const Json::parse_error& error) {
    const std::size_t to = std::min(error.byte, json.size());
    const auto lines = std::count(json.begin(), json.begin() + static_cast<std::ptrdiff_t>(to), '\n');
    throw InputError({file, static_cast<long>(lines) + 1, {}}, "is no JSON, or is cut off",
                     "at byte " + std::to_string(error.byte));
  } catch (const Json::exception&) {
    throw InputError({file, 0, {}}, "holds a number beyond all range");
  }
}

void JsonFields::fail(const std::string& problem, const std::string& hint) const {
  throw InputError({tree_->file, 0, field_}, problem, hint);
}

std::string JsonFields::found() const {
  std::string text = tree_->node->dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > kLongestShown) text = text.substr(0, kLongestShown) + "...";
  return "found " + text;
}

JsonFields::Names JsonFields::keys() const {
  if (!tree_->node->is_object()) fail("must be an object", found());
  Names names;
  for (const auto& [key, value] : tree_->node->items()) names.push_back(key);
  return names;
}

void JsonFields::check_keys(const Names& known) const {
  for (const std::string& key : keys()) {
    if (std::find(known.begin(), known.end(), key) == known.end()) at(key).fail("unknown field", suggest(key, known));
  }
}

bool JsonFields::has(const std::string& key) const { return tree_->node->is_object() && tree_->node->contains(key); }

JsonFields JsonFields::at(const std::string& key) const {
  const Names names = keys();
  const std::string path = field_.empty() ? key : field_ + "." + key;
  if (!has(key)) throw InputError({tree_->file, 0, path}, "is missing");
  return {std::make_shared<const Tree>(Tree{tree_->root, &tree_->node->at(key), tree_->file}), path};
}

std::vector<JsonFields> JsonFields::items() const {
  if (!tree_->node->is_array() || tree_->node->empty()) fail("must be a list that is not empty", found());
  std::vector<JsonFields> all;
  for (const Json& item : *tree_->node) {
    std::string path = field_ + "[" + std::to_string(all.size()) + "]";
    all.push_back({std::make_shared<const Tree>(Tree{tree_->root, &item, tree_->file}), std::move(path)});
  }
  return all;
}

std::string JsonFields::text() const {
  if (!tree_->node->is_string() || tree_->node->get_ref<const std::string&>().empty()) {
    fail("must be a text that is not empty", found());
  }
  return tree_->node->get<std::string>();
}

std::string JsonFields::choice(const Names& names) const {
  std::string value = text();
  if (std::find(names.begin(), names.end(), value) == names.end()) fail("is '" + value + "'", suggest(value, names));
  return value;
}

std::int64_t JsonFields::whole(std::int64_t least, std::int64_t most) const {
  const std::string range = "must be a whole number from " + std::to_string(least) + " to " + std::to_string(most);
  if (!tree_->node->is_number_integer()) fail(range, found());
  if (tree_->node->is_number_unsigned() && tree_->node->get<std::uint64_t>() > INT64_MAX) fail(range, found());
  const auto value = tree_->node->get<std::int64_t>();
  if (value < least || value > most) fail(range, found());
  return value;
}

double JsonFields::number() const {
  if (!tree_->node->is_number()) fail("must be a number", found());
  const auto value = tree_->node->get<double>();
  if (!std::isfinite(value)) fail("must be a finite number", found());
  return value;
}

double JsonFields::positive() const {
  const double value = number();
  if (value <= 0) fail("must be above 0", found());
  return value;
}

double JsonFields::not_negative() const {
  const double value = number();
  if (value < 0) fail("must be at least 0", found());
  return value;
}

std::string read_json_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) throw InputError({path, 0, {}}, "cannot be read");
  return text.str();
}

}  // namespace servecast
