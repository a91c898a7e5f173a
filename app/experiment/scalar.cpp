#include <algorithm>
#include <charconv>
#include <cmath>

#include "app/experiment/validate.hpp"

namespace servecast::experiments {
namespace {

[[noreturn]] void fail(const Key& key, const Node& node, const std::string& path) {
  throw InputError(node.place(path), "expected " + expected(key) + ", found " + found(node));
}

[[noreturn]] void fail_range(const Key& key, const Node& node, const std::string& path) {
  throw InputError(node.place(path), node.text + " is out of range", "expected " + expected(key));
}

template <class Number>
std::errc parse(const std::string& text, Number& value) {
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  return end == last ? error : std::errc::invalid_argument;
}

Scalar integer(const Key& key, const Node& node, const std::string& path) {
  if (!key.word.empty() && node.text == key.word) return {.text = key.word};
  std::int64_t value = 0;
  const std::errc error = node.quoted ? std::errc::invalid_argument : parse(node.text, value);
  if (error == std::errc::invalid_argument) fail(key, node, path);
  if (error != std::errc{} || value < key.integers.least || value > key.integers.most) fail_range(key, node, path);
  return {.integer = value};
}

// YAML's spellings as well as C's.
bool is_not_finite(const std::string& text) {
  static const std::vector<std::string> kNames{".nan", ".inf", "nan", "inf", "infinity"};
  std::string lower = text.substr(text.starts_with('-') || text.starts_with('+') ? 1 : 0);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return std::find(kNames.begin(), kNames.end(), lower) != kNames.end();
}

Scalar number(const Key& key, const Node& node, const std::string& path) {
  if (!key.word.empty() && node.text == key.word) return {.text = key.word};
  if (!node.quoted && is_not_finite(node.text)) {
    throw InputError(node.place(path), node.text + " is not finite", "expected " + expected(key));
  }
  double value = 0;
  const std::errc error = node.quoted ? std::errc::invalid_argument : parse(node.text, value);
  if (error == std::errc::invalid_argument || (error == std::errc{} && !std::isfinite(value))) fail(key, node, path);
  const NumberRange& range = key.numbers;
  const bool too_low = value < range.least || (range.above_least && value == range.least);
  if (error != std::errc{} || too_low || value > range.most) fail_range(key, node, path);
  return {.number = value};
}

Scalar choice(const Key& key, const Node& node, const std::string& path) {
  if (std::find(key.choices.begin(), key.choices.end(), node.text) == key.choices.end()) {
    throw InputError(node.place(path), "unknown value " + found(node), suggest(node.text, key.choices));
  }
  return {.text = node.text};
}

// As escapes in quotes can bring them in; a path would end at a zero.
bool has_control_characters(const std::string& text) {
  return std::any_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; });
}

}  // namespace

bool is_name(const std::string& text) {
  const auto ok = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '-';
  };
  return !text.empty() && text.front() != '.' && text.size() <= 200 && std::all_of(text.begin(), text.end(), ok);
}

Scalar parse_scalar(const Key& key, const Node& node, const std::string& path) {
  if (node.kind != Node::Kind::kScalar) fail(key, node, path);
  switch (key.kind) {
    case Key::Kind::kInteger:
      return integer(key, node, path);
    case Key::Kind::kNumber:
      return number(key, node, path);
    case Key::Kind::kBoolean:
      if (node.quoted || (node.text != "true" && node.text != "false")) fail(key, node, path);
      return {.flag = node.text == "true"};
    case Key::Kind::kChoice:
      return choice(key, node, path);
    case Key::Kind::kText:
      if (!is_name(node.text)) fail(key, node, path);
      return {.text = node.text};
    default:
      if (node.text.empty() || has_control_characters(node.text)) fail(key, node, path);
      return {.text = node.text};
  }
}

}  // namespace servecast::experiments
