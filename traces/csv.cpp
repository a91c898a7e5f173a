#include "traces/csv.hpp"

#include <algorithm>

namespace servecast {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool same_name(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return lower(x) == lower(y); });
}

}  // namespace

CsvReader::CsvReader(BufferedInput& input) : lines_(input) {
  if (!read_record()) fail({file(), 0, {}}, "holds no rows", "expected a header line and rows");
  for (std::size_t i = 0; i < field_count_; ++i) header_.emplace_back(trimmed(fields_[i]));
}

bool CsvReader::next() {
  if (!read_record()) return false;
  if (field_count_ != header_.size()) {
    fail({file(), record_line_, {}}, "has " + std::to_string(field_count_) + " fields",
         "the header has " + std::to_string(header_.size()));
  }
  return true;
}

std::optional<std::size_t> CsvReader::find(std::string_view name) const {
  for (std::size_t i = 0; i < header_.size(); ++i) {
    if (same_name(header_[i], name)) return i;
  }
  return std::nullopt;
}

std::size_t CsvReader::column(std::string_view name) const {
  if (const std::optional<std::size_t> found = find(name)) return *found;
  std::string present;
  for (const std::string& column : header_) present += (present.empty() ? "" : ", ") + column;
  fail({file(), 0, name}, "the column is missing", "the header has: " + present);
}

Where CsvReader::where(std::size_t column) const { return {file(), record_line_, header_[column]}; }

bool CsvReader::read_record() {
  std::string_view line;
  do {
    if (!lines_.next(line)) return false;
  } while (line.empty() || line.front() == '#');
  record_line_ = lines_.line();
  field_count_ = 0;
  split(line);
  return true;
}

std::string& CsvReader::start_field() {
  if (field_count_ == fields_.size()) fields_.emplace_back();
  std::string& field = fields_[field_count_++];
  field.clear();
  return field;
}

void CsvReader::split(std::string_view line) {
  std::size_t at = 0;
  while (true) {
    std::string& field = start_field();
    if (at < line.size() && line[at] == '"') {
      read_quoted(line, at);
    } else {
      const std::size_t end = std::min(line.find(',', at), line.size());
      field.assign(line.substr(at, end - at));
      at = end;
    }
    if (at == line.size()) return;
    if (line[at] != ',') {
      fail({file(), lines_.line(), {}}, "column " + std::to_string(at + 1) + ": text after a closing quote");
    }
    ++at;
  }
}

// Starts on the opening quote and ends behind the closing one, perhaps some lines later.
void CsvReader::read_quoted(std::string_view& line, std::size_t& at) {
  std::string& field = fields_[field_count_ - 1];
  const std::size_t opened = ++at;
  while (true) {
    const std::size_t quote = line.find('"', at);
    if (quote == std::string_view::npos) {
      field.append(line.substr(at)).push_back('\n');
      at = 0;
      if (field.size() > 64u * 1024 * 1024 || !lines_.next(line)) {
        fail({file(), record_line_, {}}, "column " + std::to_string(opened) + ": the quote is never closed");
      }
      continue;
    }
    field.append(line.substr(at, quote - at));
    at = quote + 1;
    if (at == line.size() || line[at] != '"') return;
    field.push_back('"');
    ++at;
  }
}

}  // namespace servecast
