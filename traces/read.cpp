#include "traces/read.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "sim/error.hpp"
#include "traces/csv.hpp"
#include "traces/json_elements.hpp"
#include "traces/readers/readers.hpp"
#include "traces/row_checker.hpp"

namespace servecast {
namespace {

enum class Kind { kCsv, kJson };

struct Format {
  std::string_view name;
  std::string_view holds;
  Kind kind;
  std::vector<std::string_view> marks;  // column names or keys; a file that has them all is of this format
  bool wall_clock;                      // arrivals count from an epoch
  readers::ReadRows read;
};

Format sharegpt(std::string_view messages) {
  return {"sharegpt",  "ShareGPT-like JSON, whole conversations: each answer is a request, its prompt the history",
          Kind::kJson, {messages},
          false,       readers::read_sharegpt};
}

// In the order in which they are tried: a format stands before those whose marks are a part of its own.
std::vector<Format> csv_formats() {
  using namespace readers;
  // clang-format off
  return {
      {"servecast-csv", "our CSV: arrival_s, prompt_tokens, output_tokens, session, turn, prefix_block<N>_ids",
       Kind::kCsv, {"prompt_tokens", "output_tokens"}, false, read_servecast_csv},
      {"azure", "Azure LLM inference trace CSV: TIMESTAMP, ContextTokens, GeneratedTokens",
       Kind::kCsv, {"TIMESTAMP", "ContextTokens", "GeneratedTokens"}, true, read_azure},
      {"burstgpt", "BurstGPT CSV: Timestamp, Model, Request tokens, Response tokens, …",
       Kind::kCsv, {"Timestamp", "Request tokens", "Response tokens"}, false, read_burstgpt},
      {"vidur", "Vidur and Sarathi-Serve length CSV: num_prefill_tokens, num_decode_tokens, …",
       Kind::kCsv, {"num_prefill_tokens", "num_decode_tokens"}, false, read_vidur},
      {"apex-plus", "APEX+ CSV: request_id, arrival_ns, input_tokens, output_tokens",
       Kind::kCsv, {"request_id", "arrival_ns", "input_tokens", "output_tokens"}, false, read_apex_plus},
      {"llmservingsim", "LLMServingSim CSV: arrival_ns, input_tokens, output_tokens, prefix_block<N>_ids",
       Kind::kCsv, {"arrival_ns", "input_tokens", "output_tokens"}, false, read_llmservingsim},
  };
  // clang-format on
}

std::vector<Format> json_formats() {
  using namespace readers;
  // clang-format off
  return {
      {"servecast-jsonl", "our JSON lines, with the same fields as our CSV",
       Kind::kJson, {"prompt_tokens", "output_tokens"}, false, read_servecast_jsonl},
      {"mooncake", "Mooncake JSON lines: timestamp, input_length, output_length, hash_ids",
       Kind::kJson, {"timestamp", "input_length", "output_length"}, false, read_mooncake},
      {"vllm-bench", "the JSON of `vllm bench serve --save-detailed`: input_lens, output_lens, start_times",
       Kind::kJson, {"input_lens", "output_lens"}, true, read_vllm_bench},
      sharegpt("conversations"), sharegpt("conversation"), sharegpt("items"), sharegpt("messages"),
  };
  // clang-format on
}

const std::vector<Format>& formats() {
  static const std::vector<Format> kFormats = [] {
    std::vector<Format> all = csv_formats();
    std::vector<Format> json = json_formats();
    std::move(json.begin(), json.end(), std::back_inserter(all));
    return all;
  }();
  return kFormats;
}

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const Format& format : formats()) {
    if (std::find(names.begin(), names.end(), format.name) == names.end()) names.emplace_back(format.name);
  }
  return names;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

const Format& named_format(const std::string& name, const std::string& file) {
  for (const Format& format : formats()) {
    if (format.name == name) return format;
  }
  fail({file, 0, {}}, "unknown trace format '" + name + "'", suggest(name, format_names()));
}

// Keys or column names as the beginning of the file shows them, in lower case.
std::vector<std::string> names_in(std::string_view beginning, const JsonGlimpse& json, const std::string& file) {
  std::vector<std::string> names = json.keys;
  if (!json.is_json) {
    const auto source = memory_source(beginning, file);
    BufferedInput input(*source);
    names = CsvReader(input).header();
  }
  for (std::string& name : names) name = lower(name);
  return names;
}

const Format& found_format(BufferedInput& input) {
  constexpr std::size_t kLookedAt = 1024 * 1024;
  const std::string_view beginning = input.peek(kLookedAt);
  if (beginning.find_first_not_of(" \t\r\n") == std::string_view::npos) fail({input.name(), 0, {}}, "is empty");
  const JsonGlimpse json = glimpse_json(beginning);
  const std::vector<std::string> names = names_in(beginning, json, input.name());
  for (const Format& format : formats()) {
    const bool has_all = std::all_of(format.marks.begin(), format.marks.end(), [&](std::string_view mark) {
      return std::find(names.begin(), names.end(), lower(mark)) != names.end();
    });
    if (has_all && json.is_json == (format.kind == Kind::kJson)) return format;
  }
  std::string known;
  for (const std::string& name : format_names()) known += (known.empty() ? "" : ", ") + name;
  fail({input.name(), 0, {}}, "is in no known trace format", "known are: " + known);
}

struct Read {
  TraceReport report;
  Tokens block_size;
  bool wall_clock;
};

Read read_rows(ByteSource& source, const ReadOptions& options, const RowSink& sink) {
  BufferedInput input(source);
  const Format& format = options.format.empty() ? found_format(input) : named_format(options.format, source.name());
  RowChecker rows(source.name(), std::string(format.name), options.sort, sink);
  format.read(input, options, rows);
  const Tokens block_size = rows.block_size();
  return {rows.finish(), block_size, format.wall_clock};
}

}  // namespace

std::vector<FormatInfo> trace_formats() {
  std::vector<FormatInfo> list;
  for (const Format& format : formats()) {
    const bool known = !list.empty() && list.back().name == format.name;
    if (!known) list.push_back({std::string(format.name), std::string(format.holds)});
  }
  return list;
}

ReadResult read_trace(ByteSource& source, const ReadOptions& options) {
  ReadResult result;
  Read read = read_rows(source, options, [&result](const TraceRow& row) { result.trace.add(row); });
  result.report = std::move(read.report);
  result.trace.set_block_size(result.trace.has_prefixes() ? read.block_size : Tokens{0});
  if (options.sort) result.trace.sort_by_arrival();
  if (read.wall_clock) result.trace.start_at_zero();
  return result;
}

ReadResult read_trace(const std::string& path, const ReadOptions& options) {
  return read_trace(*open_file(path), options);
}

TraceReport stream_trace(ByteSource& source, const ReadOptions& options, const RowSink& sink) {
  return read_rows(source, options, sink).report;
}

}  // namespace servecast
