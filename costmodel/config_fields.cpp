#include "costmodel/config_fields.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "sim/error.hpp"

namespace servecast {

struct ConfigFields::Tree {
  nlohmann::json value;
};

namespace {

constexpr std::int64_t kDimensionLimit = std::int64_t{1} << 27;

long line_of(std::string_view text, std::size_t offset) {
  const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(offset, text.size()));
  return 1 + std::count(text.begin(), end, '\n');
}

}  // namespace

ConfigFields::ConfigFields(std::shared_ptr<const Tree> tree, std::string file, std::string prefix)
    : tree_(std::move(tree)), file_(std::move(file)), prefix_(std::move(prefix)) {}

ConfigFields ConfigFields::read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw InputError({path, 0, {}}, "cannot be opened");
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (in.bad()) throw InputError({path, 0, {}}, "cannot be read");
  return parse(text, path);
}

ConfigFields ConfigFields::parse(std::string_view json, std::string file) {
  auto tree = std::make_shared<Tree>();
  try {
    tree->value = nlohmann::json::parse(json);
  } catch (const nlohmann::json::parse_error& error) {
    throw InputError({file, line_of(json, error.byte), {}}, "is not valid JSON");
  } catch (const nlohmann::json::exception&) {
    throw InputError({file, 0, {}}, "holds a number that is out of range");
  }
  if (!tree->value.is_object()) throw InputError({file, 0, {}}, "must be a JSON object");
  return {std::move(tree), std::move(file), {}};
}

void ConfigFields::fail(const char* name, std::string_view problem, std::string_view hint) const {
  throw InputError({file_, 0, prefix_ + name}, problem, hint);
}

bool ConfigFields::has(const char* name) const {
  const auto found = tree_->value.find(name);
  return found != tree_->value.end() && !found->is_null();
}

std::int64_t ConfigFields::integer(const char* name, std::int64_t minimum) const {
  if (!has(name)) fail(name, "is missing");
  const nlohmann::json& value = tree_->value[name];
  if (!value.is_number_integer()) fail(name, "must be a whole number");
  const bool huge = value.is_number_unsigned() && value.get<std::uint64_t>() >= kDimensionLimit;
  const std::int64_t number = huge ? kDimensionLimit : value.get<std::int64_t>();
  if (number < minimum || number >= kDimensionLimit) {
    fail(name, "is " + value.dump() + ", must be at least " + std::to_string(minimum) + " and below 2^27");
  }
  return number;
}

std::int64_t ConfigFields::integer_or(const char* name, std::int64_t otherwise, std::int64_t minimum) const {
  return has(name) ? integer(name, minimum) : otherwise;
}

bool ConfigFields::flag_or(const char* name, bool otherwise) const {
  if (!has(name)) return otherwise;
  const nlohmann::json& value = tree_->value[name];
  if (!value.is_boolean()) fail(name, "must be true or false");
  return value.get<bool>();
}

std::string ConfigFields::text(const char* name) const {
  if (!has(name)) fail(name, "is missing");
  const nlohmann::json& value = tree_->value[name];
  if (!value.is_string()) fail(name, "must be a string");
  return value.get<std::string>();
}

std::string ConfigFields::text_or(const char* name, std::string otherwise) const {
  return has(name) ? text(name) : std::move(otherwise);
}

std::vector<std::string> ConfigFields::texts(const char* name) const {
  std::vector<std::string> list;
  const nlohmann::json& value = tree_->value[name];
  if (!value.is_array()) fail(name, "must be a list");
  for (const nlohmann::json& entry : value) {
    if (!entry.is_string()) fail(name, "must hold strings only");
    list.push_back(entry.get<std::string>());
  }
  return list;
}

std::vector<std::int64_t> ConfigFields::integers(const char* name) const {
  std::vector<std::int64_t> list;
  const nlohmann::json& value = tree_->value[name];
  if (!value.is_array()) fail(name, "must be a list");
  for (const nlohmann::json& entry : value) {
    if (!entry.is_number_integer()) fail(name, "must hold whole numbers only");
    list.push_back(entry.get<std::int64_t>());
  }
  return list;
}

ConfigFields ConfigFields::object(const char* name) const {
  if (!has(name)) fail(name, "is missing");
  if (!tree_->value[name].is_object()) fail(name, "must be an object");
  return {std::make_shared<const Tree>(Tree{tree_->value[name]}), file_, prefix_ + name + "."};
}

void ConfigFields::refuse_if_set(const char* name) const {
  if (!has(name)) return;
  const nlohmann::json& value = tree_->value[name];
  const bool off = value == false || value == 0 || (value.is_array() && value.empty());
  if (!off) fail(name, "is set to " + value.dump() + ", which the cost model does not know how to count");
}

}  // namespace servecast
