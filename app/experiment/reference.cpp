#include "app/experiment/keys.hpp"

namespace servecast {

using namespace experiments;

namespace {

std::string code(const std::string& text) { return "`" + text + "`"; }

std::string codes(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + code(name);
  return text;
}

// What the third column says of the values.
std::string values(const Key& key) {
  const std::string unit = key.unit.empty() ? "" : " " + key.unit;
  switch (key.kind) {
    case Key::Kind::kMap:
      if (key.listable) return "map, or list of maps";
      if (key.shorthand.empty()) return "map";
      return key.find(key.shorthand)->kind == Key::Kind::kNameOrPath ? "name, path or map" : "path or map";
    case Key::Kind::kOneOf:
      return "one of " + codes(key.alternatives());
    case Key::Kind::kChoice:
      return codes(key.choices);
    case Key::Kind::kSweep:
      return "paths to lists";
    case Key::Kind::kInteger: {
      if (key.integers.least == key.integers.most) return code(expected(key));
      const std::string bounds = std::to_string(key.integers.least) + " to " + std::to_string(key.integers.most);
      return (key.word.empty() ? "" : code(key.word) + " or ") + "whole number, " + bounds + unit;
    }
    case Key::Kind::kNumber: {
      const std::string least = (key.numbers.above_least ? "above " : "") + decimal(key.numbers.least);
      return (key.word.empty() ? "" : code(key.word) + " or ") + "number, " + least + " to " +
             decimal(key.numbers.most) + unit;
    }
    default:
      return expected(key).substr(2);  // without its "a "
  }
}

std::string fallback(const Key& key) {
  if (key.required) return "required";
  return key.fallback.empty() ? "" : code(key.fallback);
}

std::string row(const Key& key, const std::string& path) {
  std::string about = key.about;
  if (!key.like.empty()) about += " Its keys are those of " + code(key.like) + ".";
  if (key.section) about += " See its table.";
  if (key.applies && !key.section) about += " Only where " + key.applies_where + ".";
  return "| " + code(path) + " | " + (key.kind == Key::Kind::kBoolean ? "true or false" : values(key)) + " | " +
         fallback(key) + " | " + about + " |\n";
}

class Reference {
 public:
  std::string write(const Key& root) {
    section(root, {}, "The file");
    return std::move(text_);
  }

 private:
  void section(const Key& key, const std::string& path, const std::string& title) {
    text_ += "### " + title + "\n\n";
    if (!path.empty()) text_ += key.about + (key.applies ? " Only where " + key.applies_where + "." : "") + "\n\n";
    if (!key.keys.empty()) text_ += "| key | values | default | meaning |\n|---|---|---|---|\n";
    std::vector<std::pair<const Key*, std::string>> sections;
    rows(key, path, sections);
    text_ += "\n";
    for (const auto& [inner, inner_path] : sections) section(*inner, inner_path, code(inner_path));
  }

  void rows(const Key& key, const std::string& path, std::vector<std::pair<const Key*, std::string>>& sections) {
    for (const Key& child : key.keys) {
      const std::string child_path = join_path(path, child.name);
      text_ += row(child, child_path);
      if (child.section) {
        sections.emplace_back(&child, child_path);
      } else if (child.like.empty()) {
        rows(child, child_path, sections);
      }
    }
  }

  std::string text_;
};

}  // namespace

std::string experiment_reference_markdown() { return Reference().write(experiment_keys()); }

}  // namespace servecast
