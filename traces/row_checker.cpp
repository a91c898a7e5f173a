#include "traces/row_checker.hpp"

#include <utility>

#include "sim/error.hpp"
#include "traces/numbers.hpp"

namespace servecast {

RowChecker::RowChecker(const std::string& file, const std::string& format, bool sort, const RowSink& sink)
    : sink_(sink), sort_(sort) {
  report_.file = file;
  report_.format = format;
  report_.tokens = "as recorded";
}

void RowChecker::add(const TraceRow& row, long line) {
  check_shape(row, line);
  ++report_.rows_read;
  if (row.arrival && !sort_ && *row.arrival < latest_) {
    fail({file(), line, {}}, "arrives before the request of line " + std::to_string(latest_line_),
         "`sort: true` accepts a trace that is out of order");
  }
  if (row.arrival) {
    latest_ = *row.arrival;
    latest_line_ = line;
  }
  if (row.prompt == Tokens{0}) {
    report_.drop("zero-length prompt");
  } else if (row.output == Tokens{0}) {
    report_.drop("zero-length output");
  } else {
    check_prefix(row, line);
    ++report_.rows_kept;
    sink_(row);
  }
}

void RowChecker::drop(const std::string& reason) {
  ++report_.rows_read;
  report_.drop(reason);
}

void RowChecker::check_shape(const TraceRow& row, long line) {
  if (!std::exchange(any_, true)) {
    has_arrivals_ = row.arrival.has_value();
    has_sessions_ = row.session.has_value();
  }
  const auto check = [&](bool present, bool wanted, const char* what) {
    if (present == wanted) return;
    fail({file(), line, {}}, std::string(present ? "has" : "has no") + " " + what + ", unlike the rows before it");
  };
  check(row.arrival.has_value(), has_arrivals_, "arrival");
  check(row.session.has_value(), has_sessions_, "session");
}

void RowChecker::check_prefix(const TraceRow& row, long line) const {
  if (row.prefix.empty()) return;
  const auto most = static_cast<std::uint64_t>(blocks_for(row.prompt, block_size_).count());
  std::uint64_t left = most;
  for (const BlockRun& run : row.prefix) {
    if (run.count > left) {
      fail({file(), line, {}}, "more prefix blocks than the prompt fills: " + std::to_string(row.prompt.count()) +
                                   " tokens fill " + std::to_string(most) + " blocks of " +
                                   std::to_string(block_size_.count()));
    }
    left -= run.count;
  }
}

void RowChecker::set_block_size(Tokens size, long line) {
  if (block_size_ != Tokens{0} && block_size_ != size) {
    fail({file(), line, {}}, "prefix blocks of " + std::to_string(size.count()) + " tokens",
         "the rows before it have blocks of " + std::to_string(block_size_.count()));
  }
  if (size <= Tokens{0}) fail({file(), line, {}}, "prefix blocks must hold at least one token");
  block_size_ = size;
}

TraceReport RowChecker::finish() {
  if (report_.rows_kept == 0) {
    std::string why;
    for (const TraceReport::Drop& drop : report_.dropped) {
      why += (why.empty() ? "dropped: " : ", ") + std::to_string(drop.rows) + " " + drop.reason;
    }
    fail({file(), 0, {}}, "holds no request", why);
  }
  return std::move(report_);
}

}  // namespace servecast
