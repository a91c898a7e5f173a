// Arrivals and lengths together: what the engine is fed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <variant>

#include "sim/arrival_source.hpp"
#include "traces/arrivals.hpp"
#include "traces/lengths.hpp"
#include "traces/trace.hpp"

namespace servecast {

// The trace's rows one after the other. Asking for more requests than it has is an error unless `cycle`,
// which starts over.
struct RowsInOrder {
  bool cycle = false;
};
// Rows drawn with replacement; a prompt keeps its answer's length.
struct RowsResampled {};
// Prompt and output drawn independently.
struct DrawnLengths {
  LengthSpec prompt;
  LengthSpec output;
};
// Conversations flattened into plain requests, one after the other: each turn's prompt is all that was said
// before it and a new question. A conversation ends early where the next prompt and answer would exceed `context`.
struct DrawnConversations {
  LengthSpec turns;
  LengthSpec question;
  LengthSpec answer;
  Tokens context{kMaxTokensPerLength};
};
using WorkloadLengths = std::variant<RowsInOrder, RowsResampled, DrawnLengths, DrawnConversations>;

struct WorkloadSpec {
  ArrivalSpec arrivals;
  WorkloadLengths lengths;
  // Absent: as many as the trace has rows. Needed where there is no trace.
  std::optional<std::int64_t> requests;
  // The client's cap. Absent: pinned to each request's own output length.
  std::optional<Tokens> max_tokens;
  std::uint64_t seed = 1;
};

// What was sent so far, to be reported next to what was asked for.
struct Realised {
  std::int64_t requests = 0;
  SimTime first = kStart;
  SimTime last = kStart;  // the latest arrival
  std::int64_t prompt_tokens = 0;
  std::int64_t output_tokens = 0;

  // (requests − 1)/(last − first); 0 where all came at once.
  [[nodiscard]] double rate_per_s() const;
};

class Workload : public ArrivalSource {
 public:
  [[nodiscard]] virtual const Realised& realised() const = 0;
};

// Requests are made as they are asked for: memory does not grow with their number. Arrivals draw from
// stream(seed, "arrivals"), prompts and outputs from "lengths.prompt" and "lengths.output", resampled rows from
// "lengths.resample", conversations' turns from "lengths.turns", think times from "think".
// Throws InputError where parts do not fit: a trace is needed and absent, records no arrivals, or is too short.
[[nodiscard]] std::unique_ptr<Workload> make_workload(const WorkloadSpec& spec,
                                                      std::shared_ptr<const Trace> trace = nullptr);

}  // namespace servecast
