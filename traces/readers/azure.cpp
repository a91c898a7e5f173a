// Azure LLM inference traces (github.com/Azure/AzurePublicDataset): TIMESTAMP, ContextTokens, GeneratedTokens.
// The 2023 set writes "2023-11-16 18:17:03.9799600", the 2024 set adds "+00:00".
#include <chrono>

#include "traces/csv.hpp"
#include "traces/readers/readers.hpp"

namespace servecast::readers {
namespace {

constexpr std::string_view kExpected = "expected YYYY-MM-DD hh:mm:ss.fffffff";

// Takes `count` digits and, unless it is 0, the separator behind them.
int take(std::string_view& text, std::size_t count, char separator, const Where& where) {
  int value = 0;
  if (text.size() < count + (separator != 0 ? 1 : 0)) fail(where, "the timestamp is too short", kExpected);
  for (std::size_t i = 0; i < count; ++i) {
    if (text[i] < '0' || text[i] > '9') fail(where, "is not a timestamp", kExpected);
    value = value * 10 + (text[i] - '0');
  }
  if (separator != 0 && text[count] != separator) fail(where, "is not a timestamp", kExpected);
  text.remove_prefix(count + (separator != 0 ? 1 : 0));
  return value;
}

// Nanoseconds since 1970 (UTC).
SimTime parse_timestamp(std::string_view text, const Where& where) {
  using namespace std::chrono;
  text = trimmed(text);
  for (const std::string_view zone : {"+00:00", "Z"}) {
    if (text.ends_with(zone)) text.remove_suffix(zone.size());
  }
  const int y = take(text, 4, '-', where);
  const int m = take(text, 2, '-', where);
  const int d = take(text, 2, text.size() > 2 && text[2] == 'T' ? 'T' : ' ', where);
  const year_month_day date{year{y}, month{static_cast<unsigned>(m)}, day{static_cast<unsigned>(d)}};
  const int hour = take(text, 2, ':', where);
  const int minute = take(text, 2, ':', where);
  if (!date.ok() || y < 1970 || y > 2260 || hour > 23 || minute > 59) fail(where, "is not a date and time", kExpected);
  const SimTime within_minute = parse_instant(text, 0, where);
  if (within_minute >= SimTime{minutes{1}}) fail(where, "is not a date and time", kExpected);
  return within_minute + sys_days{date}.time_since_epoch() + hours{hour} + minutes{minute};
}

}  // namespace

void read_azure(BufferedInput& input, const ReadOptions& /*options*/, RowChecker& rows) {
  CsvReader csv(input);
  const std::size_t timestamp = csv.column("TIMESTAMP");
  const std::size_t prompt = csv.column("ContextTokens");
  const std::size_t output = csv.column("GeneratedTokens");
  while (csv.next()) {
    TraceRow row;
    row.arrival = parse_timestamp(csv.field(timestamp), csv.where(timestamp));
    row.prompt = parse_tokens(csv.field(prompt), csv.where(prompt));
    row.output = parse_tokens(csv.field(output), csv.where(output));
    rows.add(row, csv.line());
  }
}

}  // namespace servecast::readers
