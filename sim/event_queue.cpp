#include "sim/event_queue.hpp"

#include <algorithm>
#include <tuple>

namespace servecast {
namespace {

// std::push_heap keeps the greatest in front: "less" is "later".
bool later(const Event& a, const Event& b) {
  return std::tuple(a.at, phase_of(a.kind), a.sequence) > std::tuple(b.at, phase_of(b.kind), b.sequence);
}

}  // namespace

void EventQueue::post(SimTime at, EventKind kind) {
  heap_.push_back({at, posted_++, kind});
  std::push_heap(heap_.begin(), heap_.end(), later);
}

Event EventQueue::pop() {
  std::pop_heap(heap_.begin(), heap_.end(), later);
  const Event event = heap_.back();
  heap_.pop_back();
  return event;
}

}  // namespace servecast
