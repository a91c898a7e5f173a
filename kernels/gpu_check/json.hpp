// Writes JSON objects, a field at a time. Numbers round-trip; what JSON has no number for becomes null.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace servecast::kernels::gpu_check {

class JsonObject {
 public:
  JsonObject& add(std::string_view key, std::string_view value);
  JsonObject& add(std::string_view key, const char* value) { return add(key, std::string_view(value)); }
  JsonObject& add(std::string_view key, double value);
  JsonObject& add(std::string_view key, const JsonObject& value) { return raw(key, value.text()); }
  JsonObject& add(std::string_view key, const std::vector<double>& values);
  JsonObject& add(std::string_view key, const std::vector<JsonObject>& values);
  template <std::same_as<bool> Bool>
  JsonObject& add(std::string_view key, Bool value) {
    return raw(key, value ? "true" : "false");
  }
  template <std::integral Integer>
  requires(!std::same_as<Integer, bool>) JsonObject& add(std::string_view key, Integer value) {
    return raw(key, std::to_string(value));
  }

  // `value` is JSON already.
  JsonObject& add_json(std::string_view key, std::string_view value) { return raw(key, value); }

  [[nodiscard]] std::string text() const { return "{" + fields_ + "}"; }

 private:
  JsonObject& raw(std::string_view key, std::string_view value);

  std::string fields_;
};

// With its quotes; control characters and quotes escaped, all else as it comes.
[[nodiscard]] std::string json_string(std::string_view text);
[[nodiscard]] std::string json_number(double value);

// Reads back what JsonObject wrote: the text of a field that is a number, a word or a string without escapes; empty
// where the object has none of that name.
[[nodiscard]] std::string_view json_field(std::string_view object, std::string_view key);

}  // namespace servecast::kernels::gpu_check
