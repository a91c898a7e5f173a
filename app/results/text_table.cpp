#include "app/results/text_table.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <fmt/format.h>

namespace servecast {
namespace {

// Characters, not bytes: continuation bytes of UTF-8 take no column.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string padded(const std::string& text, std::size_t width, TextTable::Align align) {
  const std::string blanks(width - width_of(text), ' ');
  return align == TextTable::Align::kLeft ? text + blanks : blanks + text;
}

void append_line(std::string& out, std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  out += line + "\n";
}

// Decimals that leave three significant digits, counted after rounding: 0.9996 is 1.00, not 1.000.
int decimals_of(double size) {
  constexpr double kRoundsUp = 1.00050001;
  return std::max(0, 2 - static_cast<int>(std::floor(std::log10(size * kRoundsUp))));
}

std::string three_digits(double value) { return fmt::format("{:.{}f}", value, decimals_of(std::abs(value))); }

}  // namespace

void TextTable::column(std::string title, Align align) {
  titles_.push_back(std::move(title));
  aligns_.push_back(align);
}

void TextTable::row(std::vector<std::string> cells) {
  assert(cells.size() == titles_.size());
  rows_.push_back(std::move(cells));
}

std::string TextTable::text() const {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < titles_.size(); ++c) {
    std::size_t width = width_of(titles_[c]);
    for (const auto& row : rows_) width = std::max(width, width_of(row[c]));
    widths.push_back(width);
  }
  const auto line_of = [&](const std::vector<std::string>& cells) {
    std::string line;
    for (std::size_t c = 0; c < cells.size(); ++c) {
      line += (c == 0 ? "" : "  ") + padded(cells[c], widths[c], aligns_[c]);
    }
    return line;
  };
  std::string out;
  append_line(out, line_of(titles_));
  std::vector<std::string> rules;
  for (const std::size_t width : widths) rules.emplace_back(width, '-');
  append_line(out, line_of(rules));
  for (const auto& row : rows_) append_line(out, line_of(row));
  return out;
}

std::string human_seconds(double value) {
  const double size = std::abs(value);
  if (size == 0) return "0 s";
  if (size < 0.9995e-3) return three_digits(value * 1e6) + " us";
  if (size < 0.9995) return three_digits(value * 1e3) + " ms";
  if (size < 1000) return three_digits(value) + " s";
  if (size < 7170) return three_digits(value / 60) + " min";
  const auto minutes = static_cast<std::int64_t>(std::llround(value / 60));
  return fmt::format("{} h {:02} min", minutes / 60, minutes % 60);
}

std::string human_bytes(double bytes) { return fmt::format("{:.2f} GB ({:.2f} GiB)", bytes / 1e9, bytes / 0x1p30); }

std::string human_count(std::int64_t value) {
  std::string digits = std::to_string(value);
  const std::size_t first = value < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) digits.insert(at -= 3, ",");
  return digits;
}

std::string human_number(double value) {
  if (value == 0) return "0";
  const double size = std::abs(value);
  if (size >= 99.95) return human_count(static_cast<std::int64_t>(std::llround(value)));
  return fmt::format("{:.{}f}", value, std::min(decimals_of(size), 9));
}

}  // namespace servecast
