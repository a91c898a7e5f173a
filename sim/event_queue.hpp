// The pending events, in a total order: time, then phase, then order of posting.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/time.hpp"

namespace servecast {

// Within one instant. Each line says why it stands before the next.
enum class Phase : std::uint8_t {
  kFinish,    // steps end and free memory before anyone asks for it
  kArrive,    // a request that arrives now is seen by the schedulers of now
  kSchedule,  // schedulers run when all that happens at this instant is known
};

enum class EventKind : std::uint8_t { kStepEnded, kArrival, kWake, kSchedule };

[[nodiscard]] constexpr Phase phase_of(EventKind kind) {
  switch (kind) {
    case EventKind::kStepEnded:
      return Phase::kFinish;
    case EventKind::kArrival:
      return Phase::kArrive;
    case EventKind::kWake:
    case EventKind::kSchedule:
      break;
  }
  return Phase::kSchedule;
}

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
  // Requires !empty().
  Event pop();

 private:
  std::vector<Event> heap_;
  std::uint64_t posted_ = 0;
};

}  // namespace servecast
