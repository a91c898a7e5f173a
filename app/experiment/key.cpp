#include "app/experiment/key.hpp"

#include <algorithm>
#include <charconv>

namespace servecast::experiments {
namespace {

Key make(Key::Kind kind, std::string name, std::string about, Assign assign) {
  Key key;
  key.kind = kind;
  key.name = std::move(name);
  key.about = std::move(about);
  key.assign = std::move(assign);
  return key;
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::string expected_number(const NumberRange& range) {
  if (range.above_least) return "a number above " + decimal(range.least) + ", at most " + decimal(range.most);
  return "a number from " + decimal(range.least) + " to " + decimal(range.most);
}

void visit_below(const Key& key, const std::string& path,
                 const std::function<void(const Key&, const std::string&)>& visit) {
  for (const Key& child : key.keys) {
    const std::string child_path = join_path(path, child.name);
    visit(child, child_path);
    visit_below(child, child_path, visit);
  }
}

}  // namespace

const Key* Key::find(std::string_view key) const {
  const auto found = std::find_if(keys.begin(), keys.end(), [&](const Key& k) { return k.name == key; });
  return found == keys.end() ? nullptr : &*found;
}

bool Key::needs_nothing() const {
  return kind == Kind::kMap && std::none_of(keys.begin(), keys.end(), [](const Key& key) { return key.required; });
}

std::vector<std::string> Key::names() const {
  std::vector<std::string> all;
  for (const Key& key : keys) all.push_back(key.name);
  return all;
}

std::vector<std::string> Key::alternatives() const {
  std::vector<std::string> all;
  for (const Key& key : keys) {
    if (key.alternative) all.push_back(key.name);
  }
  return all;
}

Key Key::with_default(std::string text) && {
  fallback = std::move(text);
  return std::move(*this);
}

Key Key::with_default(std::string text, std::function<std::string(const Experiment&)> of) && {
  fallback = std::move(text);
  fallback_of = std::move(of);
  return std::move(*this);
}

Key Key::needed() && {
  required = true;
  return std::move(*this);
}

Key Key::as_alternative() && {
  alternative = true;
  return std::move(*this);
}

Key Key::as_section() && {
  section = true;
  return std::move(*this);
}

Key Key::one_or_several() && {
  listable = true;
  return std::move(*this);
}

Key Key::where(std::function<bool(const Experiment&)> holds, std::string condition) && {
  applies = std::move(holds);
  applies_where = std::move(condition);
  return std::move(*this);
}

Key integer_key(std::string name, std::string unit, IntegerRange range, std::string about, Assign assign) {
  Key key = make(Key::Kind::kInteger, std::move(name), std::move(about), std::move(assign));
  key.unit = std::move(unit);
  key.integers = range;
  return key;
}

Key number_key(std::string name, std::string unit, NumberRange range, std::string about, Assign assign) {
  Key key = make(Key::Kind::kNumber, std::move(name), std::move(about), std::move(assign));
  key.unit = std::move(unit);
  key.numbers = range;
  return key;
}

Key boolean_key(std::string name, std::string about, Assign assign) {
  return make(Key::Kind::kBoolean, std::move(name), std::move(about), std::move(assign));
}

Key choice_key(std::string name, std::vector<std::string> choices, std::string about, Assign assign) {
  Key key = make(Key::Kind::kChoice, std::move(name), std::move(about), std::move(assign));
  key.choices = std::move(choices);
  return key;
}

Key text_key(Key::Kind kind, std::string name, std::string about, Assign assign) {
  return make(kind, std::move(name), std::move(about), std::move(assign));
}

Key map_key(std::string name, std::string about, std::vector<Key> keys, Assign assign) {
  Key key = make(Key::Kind::kMap, std::move(name), std::move(about), std::move(assign));
  key.keys = std::move(keys);
  return key;
}

Key one_of_key(std::string name, std::string about, std::vector<Key> keys, Assign assign) {
  Key key = map_key(std::move(name), std::move(about), std::move(keys), std::move(assign));
  key.kind = Key::Kind::kOneOf;
  return key;
}

std::string expected(const Key& key) {
  switch (key.kind) {
    case Key::Kind::kInteger: {
      const auto [least, most] = key.integers;
      if (least == most) return std::to_string(least);
      const std::string number = "a whole number from " + std::to_string(least) + " to " + std::to_string(most);
      return key.word.empty() ? number : "'" + key.word + "' or " + number;
    }
    case Key::Kind::kNumber:
      return (key.word.empty() ? "" : "'" + key.word + "' or ") + expected_number(key.numbers);
    case Key::Kind::kBoolean:
      return "true or false";
    case Key::Kind::kChoice:
      return "one of: " + listed(key.choices);
    case Key::Kind::kText:
      return "a name of letters, digits, '.', '_' and '-'";
    case Key::Kind::kPath:
      return "a path";
    case Key::Kind::kNameOrPath:
      return "a name or a path";
    case Key::Kind::kOneOf:
      return "one of: " + listed(key.alternatives());
    case Key::Kind::kSweep:
      return "a map from paths to lists of values";
    case Key::Kind::kMap:
      break;
  }
  const std::string map = key.keys.empty() ? "an empty map" : "a map of: " + listed(key.names());
  if (key.listable) return map + ", or a list of such maps";
  return key.shorthand.empty() ? map : expected(*key.find(key.shorthand)) + " or " + map;
}

std::string decimal(double value) {
  char text[32];
  const auto [end, error] = std::to_chars(text, text + sizeof text, value);
  return error == std::errc{} ? std::string(text, end) : std::to_string(value);
}

Path split_path(std::string_view path) {
  Path parts;
  for (std::size_t begin = 0;;) {
    const std::size_t dot = path.find('.', begin);
    parts.emplace_back(path.substr(begin, dot - begin));
    if (dot == std::string_view::npos) return parts;
    begin = dot + 1;
  }
}

std::string join_path(std::string_view parent, std::string_view name) {
  std::string path(parent);
  if (!path.empty()) path += '.';
  return path.append(name);
}

std::string item_path(std::string_view list, std::size_t index) {
  return std::string(list).append("[").append(std::to_string(index)).append("]");
}

void for_each_key(const Key& root, const std::function<void(const Key&, const std::string&)>& visit) {
  visit_below(root, {}, visit);
}

}  // namespace servecast::experiments
