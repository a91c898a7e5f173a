// The fields of a JSON file of our own or another's, read strictly: whatever is missing, of another kind, out of range
// or not known is an InputError that names file and field and says what was expected.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace servecast {

class JsonFields {
 public:
  using Names = std::vector<std::string>;

  // Throws InputError with the line where it is no JSON.
  [[nodiscard]] static JsonFields parse(std::string_view json, const std::string& file);

  // It must be an object.
  [[nodiscard]] Names keys() const;
  // And have no other keys than these.
  void check_keys(const Names& known) const;
  [[nodiscard]] bool has(const std::string& key) const;
  // What stands at the key; it must be there.
  [[nodiscard]] JsonFields at(const std::string& key) const;
  // It must be a list that is not empty.
  [[nodiscard]] std::vector<JsonFields> items() const;

  // Of this field: a text that is not empty, one of the names, a whole number in [least, most], a finite number.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] std::string choice(const Names& names) const;
  [[nodiscard]] std::int64_t whole(std::int64_t least, std::int64_t most) const;
  [[nodiscard]] double number() const;
  // Above 0, or at least 0.
  [[nodiscard]] double positive() const;
  [[nodiscard]] double not_negative() const;

  [[noreturn]] void fail(const std::string& problem, const std::string& hint = {}) const;

 private:
  struct Tree;
  JsonFields(std::shared_ptr<const Tree> tree, std::string field);
  // "found 3": names what stands there without letting a huge one flood the message.
  [[nodiscard]] std::string found() const;

  std::shared_ptr<const Tree> tree_;
  std::string field_;  // "" at the top
};

// The whole file. Throws InputError where it cannot be read.
[[nodiscard]] std::string read_json_file(const std::string& path);

}  // namespace servecast
