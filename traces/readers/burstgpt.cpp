// BurstGPT (github.com/HPMLL/BurstGPT): Timestamp in seconds from the start of the trace, request and response
// tokens. Failed requests have a response of 0 tokens and are dropped as such.
#include "traces/csv.hpp"
#include "traces/readers/readers.hpp"

namespace servecast::readers {

void read_burstgpt(BufferedInput& input, const ReadOptions& /*options*/, RowChecker& rows) {
  CsvReader csv(input);
  const std::size_t timestamp = csv.column("Timestamp");
  const std::size_t prompt = csv.column("Request tokens");
  const std::size_t output = csv.column("Response tokens");
  while (csv.next()) {
    TraceRow row;
    row.arrival = parse_instant(csv.field(timestamp), 0, csv.where(timestamp));
    row.prompt = parse_tokens(csv.field(prompt), csv.where(prompt));
    row.output = parse_tokens(csv.field(output), csv.where(output));
    rows.add(row, csv.line());
  }
}

}  // namespace servecast::readers
