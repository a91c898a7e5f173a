// Where time goes. Cumulative ledgers per replica make a step cost O(1): who enters a population takes the
// ledger's reading, who leaves it takes the difference.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "sim/batch.hpp"
#include "sim/log_histogram.hpp"
#include "sim/request.hpp"

namespace servecast {

// Maximum of a growing series over [from, now], in O(log n), for any `from`.
class SuffixMaximum {
 public:
  void push(std::int64_t index, Duration value) {
    while (!stack_.empty() && stack_.back().second <= value) stack_.pop_back();
    stack_.emplace_back(index, value);
  }
  // Zero where nothing was pushed at or after `from`.
  [[nodiscard]] Duration since(std::int64_t from) const;

 private:
  std::vector<std::pair<std::int64_t, Duration>> stack_;  // indices rise, values fall
};

// Of those in a replica's queue.
class WaitingTime {
 public:
  // So much more, for that reason.
  void close(Duration length, Blocker blocked_by);

  void enter_waiting(Request& request) const { waiting(request, -1); }
  void leave_waiting(Request& request) const { waiting(request, +1); }
  void enter_preempted(Request& request, SimTime now) const {
    request.time_in(Cause::kPreempted) -= now.time_since_epoch();
  }
  void leave_preempted(Request& request, SimTime now) const {
    request.time_in(Cause::kPreempted) += now.time_since_epoch();
  }
  // Leaves the waiting queue, in which it stood as new or as preempted.
  void leave_queue(Request& request, SimTime now) const {
    request.preemptions > 0 ? leave_preempted(request, now) : leave_waiting(request);
  }

 private:
  void waiting(Request& request, std::int64_t sign) const;

  Duration slot_{0}, budget_{0}, memory_{0};
};

// One interval of a lane, from one step boundary to the next.
struct Interval {
  Duration length{0};
  Duration host{0};  // of that: the device waited for the host
  bool decodes = false;
  bool prefills = false;
};

// Of those that run in a lane.
class StepTime {
 public:
  void close(const Interval& interval);

  // A sequence whose prefill is not finished idles, but for the steps that run a chunk of it (`prefilled`).
  void enter_prefill(Request& request) const { prefill(request, -1); }
  void leave_prefill(Request& request) const { prefill(request, +1); }
  static void prefilled(Request& request, const Interval& interval, bool recompute);
  void enter_decode(Request& request) const { decode(request, -1); }
  void leave_decode(Request& request) const { decode(request, +1); }
  // A decoding sequence that this interval left out.
  static void sat_out(Request& request, const Interval& interval);

 private:
  void prefill(Request& request, std::int64_t sign) const;
  void decode(Request& request, std::int64_t sign) const;

  Duration admitted_{0}, host_{0};
  Duration decode_{0}, stalled_{0}, idle_{0};
};

}  // namespace servecast
