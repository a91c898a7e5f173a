// What every reader hands its rows to: drops are counted, order is checked, and a row that cannot be is refused.
#pragma once

#include <optional>
#include <string>

#include "traces/read.hpp"
#include "traces/trace.hpp"

namespace servecast {

class RowChecker {
 public:
  RowChecker(const std::string& file, const std::string& format, bool sort, const RowSink& sink);

  // Drops a row without a prompt or an answer. Throws InputError at `line` where it comes before the row
  // before it, has more prefix blocks than its prompt fills, or lacks an arrival or a session that others have.
  void add(const TraceRow& row, long line);
  // A row of the file that is no request.
  void drop(const std::string& reason);

  // Where the file's name and a line are all that is known.
  [[nodiscard]] const std::string& file() const { return report_.file; }
  // Tokens in one prefix block. Throws InputError where the file stated another one before.
  void set_block_size(Tokens size, long line);
  [[nodiscard]] Tokens block_size() const { return block_size_; }
  void describe_tokens(std::string how) { report_.tokens = std::move(how); }
  void note(std::string text) { report_.notes.push_back(std::move(text)); }

  // Throws InputError where no row was kept.
  TraceReport finish();

 private:
  void check_shape(const TraceRow& row, long line);
  void check_prefix(const TraceRow& row, long line) const;

  TraceReport report_;
  const RowSink& sink_;
  bool sort_;
  bool any_ = false;
  bool has_arrivals_ = false;
  bool has_sessions_ = false;
  SimTime latest_ = kStart;
  long latest_line_ = 0;
  Tokens block_size_{0};
};

}  // namespace servecast
