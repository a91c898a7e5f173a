// Pending events, in a total order: time, then phase, then order of posting. Each replica has a queue of its own;
// the cluster orders the replicas by their next events, and of equal ones the replica with the lower number goes first.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "sim/time.hpp"

namespace servecast {

// Within one instant. Each line says why it stands before the next.
enum class Phase : std::uint8_t {
  kFinish,    // steps end and free memory before anyone asks for it
  kTransfer,  // KV that has come frees the memory it came from
  kChange,    // a replica that fails or joins now is known to the router of now
  kArrive,    // a request that arrives now is seen by the schedulers of now
  kPull,      // who waits for a replica, or for its memory, gets it when all that ended and arrived now is known
  kSchedule,  // schedulers run when all that happens at this instant is known
};

enum class EventKind : std::uint8_t { kStepEnded, kPull, kWake, kSchedule };

[[nodiscard]] constexpr Phase phase_of(EventKind kind) {
  switch (kind) {
    case EventKind::kStepEnded:
      return Phase::kFinish;
    case EventKind::kPull:
      return Phase::kPull;
    case EventKind::kWake:
    case EventKind::kSchedule:
      break;
  }
  return Phase::kSchedule;
}

// When something happens, and what comes first of all that happens then.
struct Moment {
  SimTime at = kNever;
  Phase phase = Phase::kSchedule;
  friend auto operator<=>(const Moment&, const Moment&) = default;
};

struct Event {
  SimTime at;
  std::uint64_t sequence;
  EventKind kind;
};

class EventQueue {
 public:
  void post(SimTime at, EventKind kind);
  [[nodiscard]] bool empty() const { return heap_.empty(); }
  // Of the next event; kNever when there is none.
  [[nodiscard]] SimTime next_time() const { return heap_.empty() ? kNever : heap_.front().at; }
  [[nodiscard]] Moment next_moment() const {
    return heap_.empty() ? Moment{} : Moment{heap_.front().at, phase_of(heap_.front().kind)};
  }
  // Requires !empty().
  Event pop();

 private:
  std::vector<Event> heap_;
  std::uint64_t posted_ = 0;
};

}  // namespace servecast
