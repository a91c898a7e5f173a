// Where requests come from, as the engine asks for them: one at a time, in order of arrival.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/time.hpp"
#include "sim/units.hpp"

namespace servecast {

enum class RequestId : std::uint32_t {};  // the position in arrival order, from 0

// A request as the client sends it. `output` is what the model will say, which no policy sees;
// `max_tokens` is the client's cap, which the server knows. The engine emits min(output, max_tokens).
struct Arrival {
  SimTime at;
  Tokens prompt;
  Tokens output;
  Tokens max_tokens;
};

// Open sources ignore `finished`; closed ones (sessions, a fixed number of clients) answer it with the
// next arrival of that client. After `finished` the engine asks `next` again even if it had ended.
class ArrivalSource {
 public:
  virtual ~ArrivalSource() = default;

  // The next arrival, never earlier than the one before; nothing when there is none (for now).
  virtual std::optional<Arrival> next() = 0;

  // `request` completed, or was rejected, at `at`.
  virtual void finished(RequestId request, SimTime at) = 0;
};

}  // namespace servecast
