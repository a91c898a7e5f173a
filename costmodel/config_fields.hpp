// The fields of a Hugging Face config.json, each read with its checks: a missing or odd field is an InputError
// that names file and field. null counts as absent, as it does in those files.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace servecast {

class ConfigFields {
 public:
  static ConfigFields read(const std::string& path);
  // `file` names the source in messages.
  static ConfigFields parse(std::string_view json, std::string file);

  [[nodiscard]] bool has(const char* name) const;
  // Whole numbers in [minimum, 2^27). Dimensions beyond that are mistakes, and products of two stay below 2^54.
  [[nodiscard]] std::int64_t integer(const char* name, std::int64_t minimum = 1) const;
  [[nodiscard]] std::int64_t integer_or(const char* name, std::int64_t otherwise, std::int64_t minimum = 1) const;
  [[nodiscard]] bool flag_or(const char* name, bool otherwise) const;
  [[nodiscard]] std::string text(const char* name) const;
  [[nodiscard]] std::string text_or(const char* name, std::string otherwise) const;
  [[nodiscard]] std::vector<std::string> texts(const char* name) const;
  [[nodiscard]] std::vector<std::int64_t> integers(const char* name) const;
  [[nodiscard]] ConfigFields object(const char* name) const;
  [[nodiscard]] const std::string& file() const { return file_; }

  [[noreturn]] void fail(const char* name, std::string_view problem, std::string_view hint = {}) const;
  // Refuses a feature whose cost is not modelled unless the field is absent, null, false or 0.
  void refuse_if_set(const char* name) const;

 private:
  struct Tree;
  ConfigFields(std::shared_ptr<const Tree> tree, std::string file, std::string prefix);

  std::shared_ptr<const Tree> tree_;
  std::string file_;
  std::string prefix_;  // "text_config." inside a nested object
};

}  // namespace servecast
