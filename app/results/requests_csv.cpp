#include <fmt/compile.h>
#include <fmt/format.h>
#include <iterator>

#include "app/results/file_writer.hpp"
#include "app/results/point_files.hpp"

namespace servecast {
namespace {

constexpr std::size_t kFlushAt = std::size_t{1} << 20;

const char* outcome_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::kOpen:
      return "open";
    case Outcome::kCompleted:
      return "completed";
    case Outcome::kRejected:
      return "rejected";
    case Outcome::kAborted:
      return "aborted";
  }
  return "";
}

class Rows {
 public:
  explicit Rows(FileWriter& file) : file_(file) {}

  void text(std::string_view value) {
    separate();
    buffer_.append(value);
  }
  void integer(std::int64_t value) {
    separate();
    fmt::format_to(std::back_inserter(buffer_), FMT_COMPILE("{}"), value);
  }
  // Exact: nanoseconds as seconds with nine digits. Requires value >= 0.
  void span(Duration value) {
    constexpr std::int64_t kNano = 1'000'000'000;
    separate();
    fmt::format_to(std::back_inserter(buffer_), FMT_COMPILE("{}.{:09}"), value.count() / kNano, value.count() % kNano);
  }
  void span_if(bool known, Duration value) { known ? span(value) : separate(); }
  void end_row() {
    buffer_.push_back('\n');
    first_ = true;
    if (buffer_.size() >= kFlushAt) flush();
  }
  void flush() {
    file_.write({buffer_.data(), buffer_.size()});
    buffer_.clear();
  }

 private:
  void separate() {
    if (!first_) buffer_.push_back(',');
    first_ = false;
  }

  FileWriter& file_;
  fmt::memory_buffer buffer_;
  bool first_ = true;
};

// Rounded to the nearest nanosecond.
Duration mean_gap(const Request& request) {
  const std::int64_t gaps = std::int64_t{request.emitted} - 1;
  return Duration{((request.last_token_at - request.first_token_at).count() + gaps / 2) / gaps};
}

void write_request(std::uint32_t index, const Request& request, bool several, Rows& rows) {
  const bool begun = request.first_token_at != kNever;
  const bool completed = request.outcome == Outcome::kCompleted;
  const bool has_gaps = completed && request.streamed && request.emitted > 1;
  rows.integer(index);
  rows.span(request.arrived_at - kStart);
  rows.integer(request.prompt);
  rows.integer(request.emitted);
  rows.integer(request.max_tokens);
  rows.text(outcome_name(request.outcome));
  rows.text(name(request.refusal));
  rows.integer(request.truncated ? 1 : 0);
  rows.span_if(begun, request.first_token_at - request.arrived_at);
  rows.span_if(has_gaps, has_gaps ? mean_gap(request) : Duration{0});
  rows.span_if(completed, request.last_token_at - request.arrived_at);
  rows.span_if(has_gaps, request.max_itl);
  rows.integer(request.preemptions);
  for (const Duration spent : request.spent) rows.span(spent);
  if (!several) return rows.end_row();
  rows.integer(index_of(request.replica));
  rows.integer(request.retries);
  rows.end_row();
}

std::string header(bool several) {
  std::string line =
      "index,arrival_s,prompt_tokens,output_tokens,max_tokens,outcome,refusal,truncated,ttft_s,tpot_s,e2e_s,max_itl_s,"
      "preemptions";
  for (std::size_t c = 0; c < kCauses; ++c) line += std::string(",") + name(static_cast<Cause>(c)) + "_s";
  if (several) line += ",replica,retries";
  return line + "\n";
}

}  // namespace

void write_requests_csv(const std::filesystem::path& path, const RequestTable& requests, bool several) {
  FileWriter file(path);
  file.write(header(several));
  Rows rows(file);
  for (std::uint32_t i = 0; i < requests.size(); ++i) write_request(i, requests[i], several, rows);
  rows.flush();
  file.close();
}

}  // namespace servecast
