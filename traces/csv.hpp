// Comma-separated values (RFC 4180) as traces use them: a header line, quotes where needed, LF or CRLF, a byte
// order mark or none, blank lines and lines that start with '#' skipped.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "traces/byte_source.hpp"
#include "traces/numbers.hpp"

namespace servecast {

// One record at a time. Throws InputError with the column (in bytes, from 1) of a stray or unclosed quote.
class CsvReader {
 public:
  // Reads the header. Throws InputError where the file holds none.
  explicit CsvReader(BufferedInput& input);

  // False at the end. Throws InputError where a record has another number of fields than the header.
  bool next();

  [[nodiscard]] const std::vector<std::string>& header() const { return header_; }
  // Which column has this name (case and surrounding blanks aside).
  [[nodiscard]] std::optional<std::size_t> find(std::string_view name) const;
  // The same; throws InputError naming the columns that are there.
  [[nodiscard]] std::size_t column(std::string_view name) const;

  [[nodiscard]] std::string_view field(std::size_t column) const { return fields_[column]; }
  // The place of that field of the current record, for messages.
  [[nodiscard]] Where where(std::size_t column) const;
  // Where the current record starts.
  [[nodiscard]] long line() const { return record_line_; }
  [[nodiscard]] const std::string& file() const { return lines_.file(); }

 private:
  bool read_record();
  void split(std::string_view line);
  void read_quoted(std::string_view& line, std::size_t& at);
  std::string& start_field();

  LineReader lines_;
  std::vector<std::string> header_;
  std::vector<std::string> fields_;  // only the first field_count_ count; kept for their memory
  std::size_t field_count_ = 0;
  long record_line_ = 0;
};

}  // namespace servecast
