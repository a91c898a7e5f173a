// APEX+ request sets (github.com/microsoft/apex_plus) as CSV: request_id, arrival_ns, input_tokens, output_tokens.
#include "traces/csv.hpp"
#include "traces/readers/readers.hpp"

namespace servecast::readers {

void read_apex_plus(BufferedInput& input, const ReadOptions& /*options*/, RowChecker& rows) {
  CsvReader csv(input);
  const std::size_t arrival = csv.column("arrival_ns");
  const std::size_t prompt = csv.column("input_tokens");
  const std::size_t output = csv.column("output_tokens");
  while (csv.next()) {
    TraceRow row;
    row.arrival = parse_instant(csv.field(arrival), 9, csv.where(arrival));
    row.prompt = parse_tokens(csv.field(prompt), csv.where(prompt));
    row.output = parse_tokens(csv.field(output), csv.where(output));
    rows.add(row, csv.line());
  }
}

}  // namespace servecast::readers
