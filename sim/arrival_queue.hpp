// The arrivals that a source has given and that have not come yet, in the order in which they will: by time, then in
// the order in which the source gave them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/arrival_source.hpp"

namespace servecast {

class ArrivalQueue {
 public:
  explicit ArrivalQueue(ArrivalSource& source) : source_(source) {}

  // Takes what the source has, known at `now`: one arrival ahead of time from an open source, all it knows from a
  // closed one. Throws SelfCheckError for an arrival before `now` or with a length that no request may have.
  void pull(SimTime now);
  // Of the next arrival; kNever when none is known.
  [[nodiscard]] SimTime next_time() const { return pending_.empty() ? kNever : pending_.front().arrival.at; }
  [[nodiscard]] bool empty() const { return pending_.empty(); }
  // Takes the next arrival out. Requires !empty().
  Arrival pop();

 private:
  struct Pending {
    Arrival arrival;
    std::uint64_t order;
  };
  static bool later(const Pending& a, const Pending& b);
  void expect(const Arrival& arrival, SimTime now);

  ArrivalSource& source_;
  std::vector<Pending> pending_;  // a heap
  std::uint64_t pulled_ = 0;
};

}  // namespace servecast
