// Requests as a file recorded them: when each came, how long its prompt and its answer were, and, where the
// source says so, which conversation and which cached prefix it belongs to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/time.hpp"
#include "sim/units.hpp"

namespace servecast {

// Prefix block ids first, first + 1, …, first + count − 1. Equal ids in two prompts mean equal tokens in
// that block and in everything before it.
struct BlockRun {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  friend bool operator==(const BlockRun&, const BlockRun&) = default;
};

struct TraceRow {
  std::optional<SimTime> arrival;  // absent where the source records lengths only
  Tokens prompt;
  Tokens output;
  std::optional<std::uint32_t> session;  // the conversation this request is a turn of
  std::uint32_t turn = 0;                // from 0 within the session
  std::span<const BlockRun> prefix;      // in prompt order; owned by whoever hands out the row
};

// No file may hold more tokens in one length than this (2^31 − 1); beyond it is an error, not a request.
inline constexpr std::int64_t kMaxTokensPerLength = 2147483647;

// What became of the rows of a file. Printed before a run, and kept with its results.
struct TraceReport {
  struct Drop {
    std::string reason;
    std::int64_t rows = 0;
  };
  std::string file;
  std::string format;
  std::int64_t rows_read = 0;
  std::int64_t rows_kept = 0;
  std::vector<Drop> dropped;       // by reason, in order of first appearance
  std::string tokens;              // "as recorded", "estimated at 4 characters per token", …
  std::vector<std::string> notes;  // anything else a reader of the results must know

  void drop(const std::string& reason, std::int64_t rows = 1);
  [[nodiscard]] std::int64_t rows_dropped() const;
};

// Columns, not rows: 16 bytes a request, 8 more with sessions, and the prefix runs in one shared pool.
class Trace {
 public:
  // Rows must all have an arrival or all have none; likewise a session (asserted).
  void add(const TraceRow& row);

  [[nodiscard]] std::size_t size() const { return prompts_.size(); }
  [[nodiscard]] bool empty() const { return prompts_.empty(); }
  // The row's prefix points into the trace, and lasts until the trace changes.
  [[nodiscard]] TraceRow row(std::size_t index) const;

  [[nodiscard]] bool has_arrivals() const { return !arrivals_.empty(); }
  [[nodiscard]] bool has_sessions() const { return !sessions_.empty(); }
  [[nodiscard]] bool has_prefixes() const { return !runs_.empty(); }

  // Tokens in one prefix block; 0 where the trace has no prefix identity.
  [[nodiscard]] Tokens block_size() const { return block_size_; }
  void set_block_size(Tokens size) { block_size_ = size; }

  // Rows of equal arrival keep their order.
  void sort_by_arrival();
  // Moves all arrivals by the same amount, so that the first row comes at 0.
  void start_at_zero();

  [[nodiscard]] std::size_t bytes() const;

 private:
  std::vector<SimTime> arrivals_;
  std::vector<std::uint32_t> prompts_;
  std::vector<std::uint32_t> outputs_;
  std::vector<std::uint32_t> sessions_;
  std::vector<std::uint32_t> turns_;
  std::vector<std::uint64_t> run_ends_;  // row i owns runs [run_ends_[i − 1], run_ends_[i]); empty without prefixes
  std::vector<BlockRun> runs_;
  Tokens block_size_{0};
};

}  // namespace servecast
