// Cuts a JSON file into its elements without parsing them: those of one top-level array, or one value after
// another (JSON lines, or with any other white space between them).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "traces/byte_source.hpp"

namespace servecast {

class JsonElements {
 public:
  explicit JsonElements(BufferedInput& input) : input_(input) {}

  // The text of the next element, valid until the next call. Throws InputError where the file is truncated,
  // an element is larger than 64 MiB, or something else stands where an element or a comma should.
  bool next(std::string_view& element);
  // Where that element starts.
  [[nodiscard]] long line() const { return element_line_; }
  [[nodiscard]] const std::string& file() const { return input_.name(); }

 private:
  enum class Shape { kUnknown, kArray, kSequence };

  int next_char();
  void expect_end();
  std::size_t element_size();
  bool after_separator();
  void take(std::size_t bytes);

  BufferedInput& input_;
  Shape shape_ = Shape::kUnknown;
  bool first_ = true;
  bool ended_ = false;
  std::size_t pending_ = 0;
  long line_ = 1;
  long element_line_ = 0;
};

// The keys of the first object in a file (inside an array or not) as far as `text`, its beginning, shows them.
struct JsonGlimpse {
  bool is_json = false;  // starts with '{' or '['
  std::vector<std::string> keys;
};
[[nodiscard]] JsonGlimpse glimpse_json(std::string_view text);

}  // namespace servecast
