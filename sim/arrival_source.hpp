// Where requests come from, as the engine asks for them: one at a time, in order of arrival.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/time.hpp"
#include "sim/units.hpp"

namespace servecast {

enum class RequestId : std::uint32_t {};  // the position in arrival order, from 0

// A request as the client sends it; each length is at least 1 and below 2^31. `output` is what the model will say,
// which no policy sees; `max_tokens` is the client's cap, which the server knows. The engine emits min(output,
// max_tokens).
struct Arrival {
  SimTime at;
  Tokens prompt;
  Tokens output;
  Tokens max_tokens;
  // Requests with equal affinity share a prefix or belong to one session, as far as a router can tell; 0: unknown.
  std::uint64_t affinity = 0;
};

// Open sources ignore `finished`. Closed ones (a fixed number of clients, sessions) answer it with more
// arrivals: the engine then asks `next` until it gives nothing, and those arrivals may come in any order,
// but none before the end that brought it. Simultaneous ones arrive in the order in which they were given.
class ArrivalSource {
 public:
  virtual ~ArrivalSource() = default;

  // The next arrival; nothing when there is none (for now). An open source's arrivals never go back in time.
  virtual std::optional<Arrival> next() = 0;

  // Whether `finished` can bring arrivals.
  [[nodiscard]] virtual bool closed_loop() const { return false; }

  // `request` completed, or was turned away, at `at`. Requests are numbered in the order in which they arrive.
  virtual void finished(RequestId request, SimTime at) = 0;
};

}  // namespace servecast
