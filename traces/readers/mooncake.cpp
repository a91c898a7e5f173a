// Mooncake traces (github.com/kvcache-ai/Mooncake, FAST 25): one object a line with timestamp (ms), input_length,
// output_length and hash_ids, the ids of the prompt's prefix blocks of 512 tokens.
#include "traces/json_record.hpp"
#include "traces/readers/readers.hpp"

namespace servecast::readers {

void read_mooncake(BufferedInput& input, const ReadOptions& /*options*/, RowChecker& rows) {
  constexpr Tokens kBlock{512};
  JsonRecords records(input);
  std::vector<BlockRun> runs;
  while (records.next()) {
    TraceRow row;
    row.arrival = records.instant("timestamp", 3);
    row.prompt = records.tokens("input_length");
    row.output = records.tokens("output_length");
    if (records.has("hash_ids")) {
      rows.set_block_size(kBlock, records.line());
      records.blocks("hash_ids", runs);
      row.prefix = runs;
    }
    rows.add(row, records.line());
  }
}

}  // namespace servecast::readers
