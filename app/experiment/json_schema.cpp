#include <nlohmann/json.hpp>

#include "app/experiment/keys.hpp"

namespace servecast {

using namespace experiments;

namespace {

using Json = nlohmann::ordered_json;

Json reference(const std::string& path) { return {{"$ref", "#/$defs/" + path}}; }

std::string description(const Key& key) {
  std::string text = key.about;
  if (!key.unit.empty()) text += " In " + key.unit + ".";
  if (key.applies) text += " Only where " + key.applies_where + ".";
  return text;
}

Json closed_map(const Key& key, const std::string& path) {
  Json schema{{"type", "object"}, {"properties", Json::object()}, {"additionalProperties", false}};
  for (const Key& child : key.keys) schema["properties"][child.name] = reference(join_path(path, child.name));
  return schema;
}

Json integer_schema(const Key& key) {
  Json number{{"type", "integer"}, {"minimum", key.integers.least}, {"maximum", key.integers.most}};
  if (key.word.empty()) return number;
  return {{"anyOf", {Json{{"const", key.word}}, std::move(number)}}};
}

Json number_schema(const Key& key) {
  Json number{{"type", "number"},
              {key.numbers.above_least ? "exclusiveMinimum" : "minimum", key.numbers.least},
              {"maximum", key.numbers.most}};
  if (key.word.empty()) return number;
  return {{"anyOf", {Json{{"const", key.word}}, std::move(number)}}};
}

Json one_of_schema(const Key& key, const std::string& path) {
  Json names = Json::array();
  for (const Key& child : key.keys) {
    if (child.alternative && child.needs_nothing()) names.push_back(child.name);
  }
  Json map = closed_map(key, path);
  if (names.empty()) return map;
  return {{"anyOf", {Json{{"enum", std::move(names)}}, std::move(map)}}};
}

Json sweep_schema() {
  Json schema{{"type", "object"}, {"properties", Json::object()}, {"additionalProperties", false}};
  for_each_key(experiment_keys(), [&](const Key& key, const std::string& path) {
    if (path == "servecast" || path == "deployment.options" || key.kind == Key::Kind::kSweep) return;
    schema["properties"][path] = {
        {"type", "array"}, {"minItems", 1}, {"uniqueItems", true}, {"items", reference(path)}};
  });
  return schema;
}

Json key_schema(const Key& key, const std::string& path) {
  switch (key.kind) {
    case Key::Kind::kMap:
      if (key.listable) {
        const Json map = closed_map(key, path);
        return {{"anyOf", {map, Json{{"type", "array"}, {"minItems", 1}, {"items", map}}}}};
      }
      if (key.shorthand.empty()) return closed_map(key, path);
      return {{"anyOf", {reference(join_path(path, key.shorthand)), closed_map(key, path)}}};
    case Key::Kind::kOneOf:
      return one_of_schema(key, path);
    case Key::Kind::kInteger:
      return integer_schema(key);
    case Key::Kind::kNumber:
      return number_schema(key);
    case Key::Kind::kBoolean:
      return {{"type", "boolean"}};
    case Key::Kind::kChoice:
      return {{"enum", key.choices}};
    case Key::Kind::kText:
      return {{"type", "string"}, {"pattern", "^[A-Za-z0-9_-][A-Za-z0-9._-]*$"}, {"maxLength", 200}};
    case Key::Kind::kSweep:
      return sweep_schema();
    default:
      return {{"type", "string"}, {"minLength", 1}};
  }
}

Json default_value(const Key& key) {
  if (key.kind == Key::Kind::kBoolean) return key.fallback == "true";
  if (key.kind == Key::Kind::kNumber) return std::stod(key.fallback);
  if (key.kind == Key::Kind::kInteger && key.fallback != key.word) return std::stoll(key.fallback);
  return key.fallback;
}

// What must be there, whatever else is: a schema of `required` alone, which says nothing about values of another kind.
Json required_below(const Key& key) {
  Json schema = Json::object();
  Json any = Json::array();
  for (const Key& child : key.keys) {
    if (child.required && !child.applies) schema["required"].push_back(child.name);
    if (child.alternative) any.push_back({{"required", {child.name}}});
    Json inner = required_below(child);
    if (inner.empty()) continue;
    if (child.listable) inner["items"] = Json(inner);
    schema["properties"][child.name] = std::move(inner);
  }
  if (!any.empty()) schema["if"] = {{"type", "object"}}, schema["then"] = {{"oneOf", std::move(any)}};
  return schema;
}

}  // namespace

std::string experiment_json_schema() {
  const Key& root = experiment_keys();
  Json schema{{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", "servecast experiment"}};
  schema["description"] = root.about;
  schema.update(closed_map(root, {}));
  schema["required"] = {"servecast"};
  // A sweep may supply what the file itself leaves out.
  schema["if"] = {{"not", {{"required", {"sweep"}}}}};
  schema["then"] = required_below(root);
  for_each_key(root, [&](const Key& key, const std::string& path) {
    Json entry{{"description", description(key)}};
    entry.update(key_schema(key, path));
    if (!key.fallback.empty()) entry["default"] = default_value(key);
    schema["$defs"][path] = std::move(entry);
  });
  return schema.dump(2) + "\n";
}

}  // namespace servecast
