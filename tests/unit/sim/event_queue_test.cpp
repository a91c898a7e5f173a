#include "sim/event_queue.hpp"

#include <doctest/doctest.h>
#include <vector>

using namespace servecast;

namespace {

SimTime at(std::int64_t ns) { return SimTime{Duration{ns}}; }

std::vector<EventKind> drained(EventQueue& queue) {
  std::vector<EventKind> kinds;
  while (!queue.empty()) kinds.push_back(queue.pop().kind);
  return kinds;
}

}  // namespace

TEST_CASE("events come in order of time, whatever the order of posting") {
  EventQueue queue;
  queue.post(at(5), EventKind::kPull);
  queue.post(at(3), EventKind::kSchedule);
  CHECK(queue.next_time() == at(3));
  CHECK(drained(queue) == std::vector{EventKind::kSchedule, EventKind::kPull});
  CHECK(queue.next_time() == kNever);
}

TEST_CASE("within an instant steps end, then a replica looks for what it can pull, then schedulers run") {
  EventQueue queue;
  queue.post(at(7), EventKind::kSchedule);
  queue.post(at(7), EventKind::kPull);
  queue.post(at(7), EventKind::kStepEnded);
  CHECK(drained(queue) == std::vector{EventKind::kStepEnded, EventKind::kPull, EventKind::kSchedule});
}

TEST_CASE(
    "within an instant KV comes, then replicas come and go, then requests arrive, then those held back are sent") {
  const std::vector<Phase> order{Phase::kFinish, Phase::kTransfer, Phase::kChange,
                                 Phase::kArrive, Phase::kPull,     Phase::kSchedule};
  for (std::size_t i = 1; i < order.size(); ++i) {
    CHECK(Moment{at(7), order[i - 1]} < Moment{at(7), order[i]});
    CHECK(Moment{at(7), order[i]} < Moment{at(8), order[i - 1]});
  }
}

TEST_CASE("an event posted for the current instant runs before the scheduler of that instant") {
  EventQueue queue;
  queue.post(at(7), EventKind::kStepEnded);
  queue.post(at(7), EventKind::kSchedule);
  CHECK(queue.pop().kind == EventKind::kStepEnded);
  queue.post(at(7), EventKind::kPull);
  CHECK(queue.pop().kind == EventKind::kPull);
}

TEST_CASE("equal events keep the order of posting") {
  EventQueue queue;
  for (int i = 0; i < 10; ++i) queue.post(at(1), EventKind::kPull);
  std::uint64_t last = 0;
  for (int i = 0; i < 10; ++i) {
    const Event event = queue.pop();
    CHECK((i == 0 || event.sequence > last));
    last = event.sequence;
  }
}
