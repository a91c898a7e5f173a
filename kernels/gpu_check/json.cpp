#include "kernels/gpu_check/json.hpp"

#include <array>
#include <charconv>
#include <cmath>

namespace servecast::kernels::gpu_check {

std::string json_string(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20) {
      out += "\\u00";
      out += kHex[byte / 16];
      out += kHex[byte % 16];
    } else {
      out += c;
    }
  }
  return out += '"';
}

std::string json_number(double value) {
  if (!std::isfinite(value)) return "null";
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  return {buffer.data(), end};
}

std::string_view json_field(std::string_view object, std::string_view key) {
  std::string name = "\"";
  name.append(key).append("\":");
  const std::size_t found = object.find(name);
  if (found == std::string_view::npos) return {};
  std::string_view rest = object.substr(found + name.size());
  const bool quoted = rest.starts_with('"');
  if (quoted) rest.remove_prefix(1);
  return rest.substr(0, rest.find_first_of(quoted ? "\"" : ",}]"));
}

JsonObject& JsonObject::raw(std::string_view key, std::string_view value) {
  if (!fields_.empty()) fields_ += ',';
  fields_.append(json_string(key)).append(":").append(value);
  return *this;
}

JsonObject& JsonObject::add(std::string_view key, std::string_view value) { return raw(key, json_string(value)); }

JsonObject& JsonObject::add(std::string_view key, double value) { return raw(key, json_number(value)); }

namespace {

template <class Values, class Text>
std::string json_array(const Values& values, Text text_of) {
  std::string text = "[";
  for (const auto& value : values) {
    if (text.size() > 1) text += ',';
    text += text_of(value);
  }
  return text += ']';
}

}  // namespace

JsonObject& JsonObject::add(std::string_view key, const std::vector<double>& values) {
  return raw(key, json_array(values, json_number));
}

JsonObject& JsonObject::add(std::string_view key, const std::vector<JsonObject>& values) {
  return raw(key, json_array(values, [](const JsonObject& value) { return value.text(); }));
}

}  // namespace servecast::kernels::gpu_check
