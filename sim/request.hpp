// A request's life, as the engine records it, and what a policy may see of it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "sim/arrival_source.hpp"
#include "sim/replica_id.hpp"
#include "sim/time.hpp"
#include "sim/units.hpp"

namespace servecast {

// Every nanosecond between arrival and end belongs to exactly one of these.
enum class Cause : std::uint8_t {
  kBoundary,   // arrived while a step ran: until that step's end
  kSlot,       // waiting: the head of the queue found no free sequence slot
  kBudget,     // waiting: the head found no room in the token budget of the step
  kMemory,     // waiting: the head found no KV memory
  kPrefill,    // its prompt was being computed
  kIdle,       // admitted, but the step ran none of its tokens
  kDecode,     // it decoded
  kStalled,    // it was decoding, but the step ran only others' prefill
  kPreempted,  // thrown out, waiting to come back
  kRecompute,  // computing again what preemption threw away
  kHost,       // the device waited for the host
  // Where prefill and decode run on replicas of their own:
  kTransferWait,  // prefilled, and its KV waited to be pulled
  kTransfer,      // its KV was on the way
  kDecodeWait,    // its KV had come, and it waited to join those that decode
  kClient,        // on its way between the client and the server (see client_latency.hpp)
  kCount
};
inline constexpr std::size_t kCauses = static_cast<std::size_t>(Cause::kCount);
[[nodiscard]] const char* name(Cause cause);

enum class Outcome : std::uint8_t { kOpen, kCompleted, kRejected, kAborted };

// Why a request was turned away (rejected: before its first token; aborted: after).
enum class Refusal : std::uint8_t {
  kNone,
  kModelLength,  // prompt >= max_model_len
  kCache,        // larger than the whole KV cache
  kReservation,  // longer than what the policy reserves for a request
  kTokenBudget,  // the prompt does not fit one step and the policy does not chunk
  kSwapSpace,    // it had to leave the device, and the host had no room for its KV
};
inline constexpr std::size_t kRefusals = 6;
[[nodiscard]] const char* name(Refusal refusal);

// One record per request, kept to the end of the run. Lengths fit 31 bits: readers refuse longer ones.
struct Request {
  SimTime arrived_at;
  SimTime first_token_at = kNever;
  SimTime last_token_at = kNever;  // of the tokens stamped so far; the end when completed
  Duration max_itl{0};
  std::array<Duration, kCauses> spent{};
  std::uint32_t prompt = 0;
  std::uint32_t output = 0;       // tokens it will emit: min(recorded, max_tokens, room in the model's length)
  std::uint32_t max_tokens = 0;   // the client's cap
  std::uint32_t emitted = 0;      // planned so far, without those of the cohort it decodes in; all when it is over
  std::uint32_t preemptions = 0;  // since it was last sent to a replica
  std::uint16_t retries = 0;      // times that its replica failed
  Outcome outcome = Outcome::kOpen;
  Refusal refusal = Refusal::kNone;
  ReplicaId replica{0};     // the latest that it was sent to
  bool truncated = false;   // output cut at max_model_len
  bool streamed = true;     // false: delivered whole, so that it has no TPOT and no ITL
  bool leaves = false;      // placed so that another replica decodes what this one prefills
  ReplicaId decodes_at{0};  // of one that leaves

  [[nodiscard]] Duration& time_in(Cause cause) { return spent[static_cast<std::size_t>(cause)]; }
  [[nodiscard]] Duration time_in(Cause cause) const { return spent[static_cast<std::size_t>(cause)]; }
  // Before its first step: until the end of the step it arrived in, and in the queue.
  [[nodiscard]] Duration waited() const {
    return time_in(Cause::kBoundary) + time_in(Cause::kSlot) + time_in(Cause::kBudget) + time_in(Cause::kMemory);
  }
};

// What a real server knows of a request. There is no output length here.
struct RequestView {
  RequestId id;
  SimTime arrived_at;
  Tokens prompt;
  Tokens emitted;
  Tokens max_tokens;    // the client's cap, or the room in the model's length where that is less
  bool leaves = false;  // another replica decodes it
  // Tokens to prefill before the next emission: the prompt, and after a preemption what had been emitted too.
  [[nodiscard]] Tokens to_prefill() const { return prompt + emitted; }
};

// What only an oracle knows: the length of the answer. Given to policies that reserve exactly, and to no other.
class OutputOracle {
 public:
  virtual ~OutputOracle() = default;
  [[nodiscard]] virtual Tokens output_of(RequestId request) const = 0;
};

}  // namespace servecast
