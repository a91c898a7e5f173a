#include "sim/arrival_queue.hpp"

#include <algorithm>
#include <tuple>

#include "sim/error.hpp"

namespace servecast {

bool ArrivalQueue::later(const Pending& a, const Pending& b) {
  return std::tie(a.arrival.at, a.order) > std::tie(b.arrival.at, b.order);
}

void ArrivalQueue::pull(SimTime now) {
  while (auto arrival = source_.next()) {
    expect(*arrival, now);
    if (!source_.closed_loop()) break;
  }
}

void ArrivalQueue::expect(const Arrival& arrival, SimTime now) {
  if (arrival.at < now) throw SelfCheckError("an arrival source went back in time");
  const auto [least, most] = std::minmax({arrival.prompt, arrival.output, arrival.max_tokens});
  if (least < Tokens{1} || most >= Tokens{std::int64_t{1} << 31}) {
    throw SelfCheckError("an arrival source sent a length below 1 or beyond 31 bits");
  }
  pending_.push_back({arrival, pulled_++});
  std::push_heap(pending_.begin(), pending_.end(), later);
}

Arrival ArrivalQueue::pop() {
  std::pop_heap(pending_.begin(), pending_.end(), later);
  const Arrival arrival = pending_.back().arrival;
  pending_.pop_back();
  return arrival;
}

}  // namespace servecast
