#include "traces/write.hpp"

#include <algorithm>
#include <cassert>
#include <ostream>
#include <utility>

#include "traces/numbers.hpp"
#include "traces/prefix_text.hpp"

namespace servecast {
namespace {

// Seconds with all nine decimals, so that nothing is rounded. Requires an instant from 0 on.
std::string in_seconds(SimTime at) {
  const std::int64_t nanoseconds = at.time_since_epoch().count();
  std::string fraction = std::to_string(nanoseconds % 1'000'000'000);
  fraction.insert(0, 9 - fraction.size(), '0');
  return std::to_string(nanoseconds / 1'000'000'000) + "." + fraction;
}

std::string prefix_key(Tokens block_size) { return "prefix_block" + std::to_string(block_size.count()) + "_ids"; }

struct DescribeLengths {
  std::string operator()(const RowsInOrder& rows) const {
    return rows.cycle ? "lengths: rows of the trace in order, cycled" : "lengths: rows of the trace in order";
  }
  std::string operator()(const RowsResampled&) const { return "lengths: rows of the trace resampled"; }
  std::string operator()(const DrawnLengths& drawn) const {
    return "prompt: " + describe(drawn.prompt) + "; output: " + describe(drawn.output);
  }
  std::string operator()(const DrawnConversations& talk) const {
    return "conversations: turns " + describe(talk.turns) + ", question " + describe(talk.question) + ", answer " +
           describe(talk.answer) + ", context " + std::to_string(talk.context.count());
  }
};

}  // namespace

TraceWriter::TraceWriter(std::ostream& out, TraceFormat format, Tokens block_size, std::string comment)
    : out_(out), format_(format), block_size_(block_size), comment_(std::move(comment)) {}

void TraceWriter::add(const TraceRow& row) {
  assert(row.prefix.empty() || block_size_ > Tokens{0});
  if (format_ == TraceFormat::kJsonl) {
    write_json(row);
    return;
  }
  if (!std::exchange(started_, true)) write_header(row);
  write_csv(row);
}

void TraceWriter::write_header(const TraceRow& row) {
  for (std::string_view rest = comment_; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    out_ << "# " << line << '\n';
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
  }
  if (row.arrival) out_ << "arrival_s,";
  out_ << "prompt_tokens,output_tokens";
  if (row.session) out_ << ",session,turn";
  if (block_size_ > Tokens{0}) out_ << ',' << prefix_key(block_size_);
  out_ << '\n';
}

void TraceWriter::write_csv(const TraceRow& row) {
  if (row.arrival) out_ << in_seconds(*row.arrival) << ',';
  out_ << row.prompt.count() << ',' << row.output.count();
  if (row.session) out_ << ',' << *row.session << ',' << row.turn;
  if (block_size_ > Tokens{0}) out_ << ',' << format_prefix(row.prefix);
  out_ << '\n';
}

void TraceWriter::write_json(const TraceRow& row) {
  out_ << '{';
  if (row.arrival) out_ << "\"arrival_s\":" << in_seconds(*row.arrival) << ',';
  out_ << "\"prompt_tokens\":" << row.prompt.count() << ",\"output_tokens\":" << row.output.count();
  if (row.session) out_ << ",\"session\":" << *row.session << ",\"turn\":" << row.turn;
  if (!row.prefix.empty()) {
    out_ << ",\"" << prefix_key(block_size_) << "\":[";
    const char* comma = "";
    for (const BlockRun& run : row.prefix) {
      for (std::uint64_t i = 0; i < run.count; ++i) out_ << std::exchange(comma, ",") << run.first + i;
    }
    out_ << ']';
  }
  out_ << "}\n";
}

void write_trace(std::ostream& out, TraceFormat format, const Trace& trace, const std::string& comment) {
  TraceWriter writer(out, format, trace.block_size(), comment);
  for (std::size_t i = 0; i < trace.size(); ++i) writer.add(trace.row(i));
}

std::string describe(const TraceReport& report) {
  std::string text = "from " + report.file + " (" + report.format + "): " + std::to_string(report.rows_kept) + " of " +
                     std::to_string(report.rows_read) + " rows";
  for (const TraceReport::Drop& drop : report.dropped) {
    text += "\ndropped: " + std::to_string(drop.rows) + " " + drop.reason;
  }
  text += "\ntokens " + report.tokens;
  for (const std::string& note : report.notes) text += "\n" + note;
  return text;
}

Realised generate(const WorkloadSpec& spec, std::shared_ptr<const Trace> trace, const RowSink& sink) {
  const std::unique_ptr<Workload> workload = make_workload(spec, std::move(trace));
  if (workload->closed_loop()) refuse("arrivals", "a closed loop has no arrivals before it is run");
  while (const std::optional<Arrival> arrival = workload->next()) {
    TraceRow row;
    row.arrival = arrival->at;
    row.prompt = arrival->prompt;
    row.output = arrival->output;
    sink(row);
  }
  return workload->realised();
}

std::string describe(const WorkloadSpec& spec) {
  std::string text = "arrivals: " + describe(spec.arrivals) + "; " + std::visit(DescribeLengths{}, spec.lengths);
  if (spec.requests) text += "; requests: " + std::to_string(*spec.requests);
  return text + "; seed " + std::to_string(spec.seed);
}

}  // namespace servecast
