// Vidur and Sarathi-Serve length files: num_prefill_tokens, num_decode_tokens, and sometimes arrived_at in seconds.
#include "traces/csv.hpp"
#include "traces/readers/readers.hpp"

namespace servecast::readers {

void read_vidur(BufferedInput& input, const ReadOptions& /*options*/, RowChecker& rows) {
  CsvReader csv(input);
  const std::size_t prompt = csv.column("num_prefill_tokens");
  const std::size_t output = csv.column("num_decode_tokens");
  const std::optional<std::size_t> arrived_at = csv.find("arrived_at");
  while (csv.next()) {
    TraceRow row;
    if (arrived_at) row.arrival = parse_instant(csv.field(*arrived_at), 0, csv.where(*arrived_at));
    row.prompt = parse_tokens(csv.field(prompt), csv.where(prompt));
    row.output = parse_tokens(csv.field(output), csv.where(output));
    rows.add(row, csv.line());
  }
}

}  // namespace servecast::readers
