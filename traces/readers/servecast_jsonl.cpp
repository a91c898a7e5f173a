// Our own JSON lines: arrival_s (or arrival_ns), prompt_tokens, output_tokens, session, turn, prefix_block<N>_ids.
#include <algorithm>

#include "sim/error.hpp"
#include "traces/json_record.hpp"
#include "traces/prefix_text.hpp"
#include "traces/readers/readers.hpp"

namespace servecast::readers {
namespace {

// The key of the prefix blocks, if there is one. Throws InputError at a key that is not ours.
std::string check_keys(const JsonRecords& records, const std::string& file, RowChecker& rows) {
  static const std::vector<std::string> kKnown{"arrival_s", "arrival_ns", "prompt_tokens",     "output_tokens",
                                               "session",   "turn",       "prefix_block16_ids"};
  std::string prefix;
  for (const std::string& key : records.keys()) {
    if (const std::optional<Tokens> size = prefix_column_block_size(key)) {
      rows.set_block_size(*size, records.line());
      prefix = key;
    } else if (std::find(kKnown.begin(), kKnown.end(), key) == kKnown.end()) {
      fail({file, records.line(), key}, "unknown key", suggest(key, kKnown));
    }
  }
  return prefix;
}

}  // namespace

void read_servecast_jsonl(BufferedInput& input, const ReadOptions& /*options*/, RowChecker& rows) {
  JsonRecords records(input);
  std::vector<BlockRun> runs;
  while (records.next()) {
    const std::string prefix = check_keys(records, input.name(), rows);
    TraceRow row;
    row.prompt = records.tokens("prompt_tokens");
    row.output = records.tokens("output_tokens");
    if (records.has("arrival_s")) row.arrival = records.instant("arrival_s", 0);
    if (records.has("arrival_ns")) {
      if (row.arrival) fail({input.name(), records.line(), "arrival_ns"}, "the arrival is given twice");
      row.arrival = records.instant("arrival_ns", 9);
    }
    if (records.has("session")) row.session = records.id("session");
    if (records.has("turn")) {
      if (!row.session) fail({input.name(), records.line(), "turn"}, "turns need a session");
      row.turn = records.id("turn");
    }
    if (!prefix.empty()) {
      records.blocks(prefix, runs);
      row.prefix = runs;
    }
    rows.add(row, records.line());
  }
}

}  // namespace servecast::readers
