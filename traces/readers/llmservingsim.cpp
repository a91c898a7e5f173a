// LLMServingSim request sets as CSV: arrival_ns, input_tokens, output_tokens and, where prefixes are known,
// prefix_block<N>_ids such as "3-7 9".
#include "traces/csv.hpp"
#include "traces/prefix_text.hpp"
#include "traces/readers/readers.hpp"

namespace servecast::readers {

void read_llmservingsim(BufferedInput& input, const ReadOptions& /*options*/, RowChecker& rows) {
  CsvReader csv(input);
  const std::size_t arrival = csv.column("arrival_ns");
  const std::size_t prompt = csv.column("input_tokens");
  const std::size_t output = csv.column("output_tokens");
  std::optional<std::size_t> prefix;
  for (std::size_t i = 0; i < csv.header().size(); ++i) {
    if (const std::optional<Tokens> size = prefix_column_block_size(csv.header()[i])) {
      rows.set_block_size(*size, csv.line());
      prefix = i;
    }
  }
  std::vector<BlockRun> runs;
  while (csv.next()) {
    TraceRow row;
    row.arrival = parse_instant(csv.field(arrival), 9, csv.where(arrival));
    row.prompt = parse_tokens(csv.field(prompt), csv.where(prompt));
    row.output = parse_tokens(csv.field(output), csv.where(output));
    if (prefix) {
      parse_prefix(csv.field(*prefix), csv.where(*prefix), runs);
      row.prefix = runs;
    }
    rows.add(row, csv.line());
  }
}

}  // namespace servecast::readers
