// Traces in our own formats, and traces made from a specification.
#pragma once

#include <iosfwd>
#include <memory>
#include <string>

#include "traces/read.hpp"
#include "traces/trace.hpp"
#include "traces/workload.hpp"

namespace servecast {

enum class TraceFormat { kCsv, kJsonl };

// Writes rows in our CSV or as JSON lines. The first row decides the columns: reading back what was written
// gives the same rows to the nanosecond (JSON lines: for arrivals before 2^51 ns, 26 days).
class TraceWriter {
 public:
  // Each line of `comment` goes before a CSV's header behind "# "; JSON has no comments, and drops it.
  TraceWriter(std::ostream& out, TraceFormat format, Tokens block_size = {}, std::string comment = {});
  // Requires the shape (arrival, session) of the first row; prefixes only where block_size is not 0.
  void add(const TraceRow& row);

 private:
  void write_header(const TraceRow& row);
  void write_csv(const TraceRow& row);
  void write_json(const TraceRow& row);

  std::ostream& out_;
  TraceFormat format_;
  Tokens block_size_;
  std::string comment_;
  bool started_ = false;
};

void write_trace(std::ostream& out, TraceFormat format, const Trace& trace, const std::string& comment = {});

// What a report says, as comment lines: where the rows came from, how many were dropped and why.
[[nodiscard]] std::string describe(const TraceReport& report);

// The workload's requests as rows, one at a time; says what was realised. Throws InputError for a closed loop,
// whose arrivals depend on the answers, and as make_workload does.
Realised generate(const WorkloadSpec& spec, std::shared_ptr<const Trace> trace, const RowSink& sink);

// "arrivals: poisson, 8 requests/s; prompt: …; seed 1", for the comment of a generated trace.
[[nodiscard]] std::string describe(const WorkloadSpec& spec);

}  // namespace servecast
