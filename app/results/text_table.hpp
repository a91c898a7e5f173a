// A table for people: columns padded to their widest cell, numbers to the right.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace servecast {

class TextTable {
 public:
  enum class Align { kLeft, kRight };
  void column(std::string title, Align align = Align::kRight);
  // Requires one cell a column.
  void row(std::vector<std::string> cells);
  // Title, rule and rows, each line ended by a newline and without blanks before it.
  [[nodiscard]] std::string text() const;

 private:
  std::vector<std::string> titles_;
  std::vector<Align> aligns_;
  std::vector<std::vector<std::string>> rows_;
};

// Seconds as people read them: "812 us", "43.1 ms", "1.24 s", "30.2 min", "2 h 05 min"; three digits.
[[nodiscard]] std::string human_seconds(double value);
// "16.06 GB (14.96 GiB)"
[[nodiscard]] std::string human_bytes(double bytes);
// 1234567 -> "1,234,567"
[[nodiscard]] std::string human_count(std::int64_t value);
// Three significant digits, no exponent: "0.0123", "4.5", "1,234".
[[nodiscard]] std::string human_number(double value);

}  // namespace servecast
