// Reads a trace in any known format. Files stream: what a reader holds at once is one row (or one
// conversation), never the file.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "traces/byte_source.hpp"
#include "traces/tokenizers/tokenizer.hpp"
#include "traces/trace.hpp"

namespace servecast {

struct ReadOptions {
  std::string format;  // one of trace_formats(); empty: found from the content
  bool sort = false;   // rows may come out of order; otherwise the first that does is an error
  TokenizerSpec tokenizer = CharactersPerToken{};  // for sources that hold text
};

struct FormatInfo {
  std::string name;
  std::string holds;  // one line for a list of formats
};

[[nodiscard]] std::vector<FormatInfo> trace_formats();

struct ReadResult {
  Trace trace;
  TraceReport report;
};

// Throws InputError where the input is not a trace or holds no request that can be kept. Arrivals on a wall
// clock (Azure, vLLM start times) are moved so that the first row comes at 0; others stay as recorded.
[[nodiscard]] ReadResult read_trace(const std::string& path, const ReadOptions& options = {});
[[nodiscard]] ReadResult read_trace(ByteSource& source, const ReadOptions& options = {});

// The rows as they are read, without keeping them; wall-clock arrivals stay on their clock. With
// `options.sort` they come in file order.
using RowSink = std::function<void(const TraceRow&)>;
TraceReport stream_trace(ByteSource& source, const ReadOptions& options, const RowSink& sink);

}  // namespace servecast
