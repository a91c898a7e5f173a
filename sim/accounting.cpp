#include "sim/accounting.hpp"

#include <algorithm>

namespace servecast {

Duration SuffixMaximum::since(std::int64_t from) const {
  const auto first = std::lower_bound(stack_.begin(), stack_.end(), from,
                                      [](const auto& entry, std::int64_t index) { return entry.first < index; });
  return first == stack_.end() ? Duration{0} : first->second;
}

void WaitingTime::close(Duration length, Blocker blocked_by) {
  switch (blocked_by) {
    case Blocker::kBudget:
      budget_ += length;
      break;
    case Blocker::kMemory:
      memory_ += length;
      break;
    case Blocker::kNone:
    case Blocker::kSlot:
      slot_ += length;
      break;
  }
}

void WaitingTime::waiting(Request& request, std::int64_t sign) const {
  request.time_in(Cause::kSlot) += sign * slot_;
  request.time_in(Cause::kBudget) += sign * budget_;
  request.time_in(Cause::kMemory) += sign * memory_;
}

void StepTime::close(const Interval& interval) {
  const Duration device = interval.length - interval.host;
  host_ += interval.host;
  admitted_ += device;
  if (interval.decodes) {
    decode_ += device;
  } else if (interval.prefills) {
    stalled_ += device;
  } else {
    idle_ += device;
  }
}

void StepTime::prefill(Request& request, std::int64_t sign) const {
  request.time_in(Cause::kIdle) += sign * admitted_;
  request.time_in(Cause::kHost) += sign * host_;
}

void StepTime::prefilled(Request& request, const Interval& interval, bool recompute) {
  const Duration device = interval.length - interval.host;
  request.time_in(Cause::kIdle) -= device;
  request.time_in(recompute ? Cause::kRecompute : Cause::kPrefill) += device;
}

void StepTime::decode(Request& request, std::int64_t sign) const {
  request.time_in(Cause::kDecode) += sign * decode_;
  request.time_in(Cause::kStalled) += sign * stalled_;
  request.time_in(Cause::kIdle) += sign * idle_;
  request.time_in(Cause::kHost) += sign * host_;
}

void StepTime::sat_out(Request& request, const Interval& interval) {
  if (!interval.decodes) return;
  const Duration device = interval.length - interval.host;
  request.time_in(Cause::kDecode) -= device;
  request.time_in(interval.prefills ? Cause::kStalled : Cause::kIdle) += device;
}

}  // namespace servecast
