// Our own CSV: arrival_s (or arrival_ns), prompt_tokens, output_tokens, session, turn, prefix_block<N>_ids.
#include <algorithm>
#include <optional>

#include "sim/error.hpp"
#include "traces/csv.hpp"
#include "traces/prefix_text.hpp"
#include "traces/readers/readers.hpp"

namespace servecast::readers {
namespace {

// Where each field stands; only lengths must be there.
struct Columns {
  explicit Columns(const CsvReader& csv)
      : prompt(csv.column("prompt_tokens")),
        output(csv.column("output_tokens")),
        arrival_s(csv.find("arrival_s")),
        arrival_ns(csv.find("arrival_ns")),
        session(csv.find("session")),
        turn(csv.find("turn")) {
    static const std::vector<std::string> kKnown{"arrival_s", "arrival_ns", "prompt_tokens",     "output_tokens",
                                                 "session",   "turn",       "prefix_block16_ids"};
    for (std::size_t i = 0; i < csv.header().size(); ++i) {
      const std::string& name = csv.header()[i];
      if (const std::optional<Tokens> size = prefix_column_block_size(name)) {
        if (prefix) fail({csv.file(), csv.line(), name}, "a second column of prefix blocks");
        prefix = i;
        block_size = *size;
      } else if (std::find(kKnown.begin(), kKnown.end(), name) == kKnown.end()) {
        fail({csv.file(), csv.line(), name}, "unknown column", suggest(name, kKnown));
      }
    }
    if (arrival_s && arrival_ns) fail({csv.file(), csv.line(), "arrival_ns"}, "the arrival is given twice");
    if (turn && !session) fail({csv.file(), csv.line(), "turn"}, "turns need a session column");
  }

  std::size_t prompt;
  std::size_t output;
  std::optional<std::size_t> arrival_s;
  std::optional<std::size_t> arrival_ns;
  std::optional<std::size_t> session;
  std::optional<std::size_t> turn;
  std::optional<std::size_t> prefix;
  Tokens block_size{0};
};

}  // namespace

void read_servecast_csv(BufferedInput& input, const ReadOptions& /*options*/, RowChecker& rows) {
  CsvReader csv(input);
  const Columns at(csv);
  if (at.prefix) rows.set_block_size(at.block_size, csv.line());
  std::vector<BlockRun> prefix;
  while (csv.next()) {
    TraceRow row;
    row.prompt = parse_tokens(csv.field(at.prompt), csv.where(at.prompt));
    row.output = parse_tokens(csv.field(at.output), csv.where(at.output));
    if (at.arrival_s) row.arrival = parse_instant(csv.field(*at.arrival_s), 0, csv.where(*at.arrival_s));
    if (at.arrival_ns) row.arrival = parse_instant(csv.field(*at.arrival_ns), 9, csv.where(*at.arrival_ns));
    const auto id = [&](std::size_t column) {
      return static_cast<std::uint32_t>(parse_id(csv.field(column), UINT32_MAX, csv.where(column)));
    };
    if (at.session) row.session = id(*at.session);
    if (at.turn) row.turn = id(*at.turn);
    if (at.prefix) {
      parse_prefix(csv.field(*at.prefix), csv.where(*at.prefix), prefix);
      row.prefix = prefix;
    }
    rows.add(row, csv.line());
  }
}

}  // namespace servecast::readers
