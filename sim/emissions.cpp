#include "sim/emissions.hpp"

#include <algorithm>

namespace servecast {

void Emissions::own_gap(Request& request, SimTime now) {
  const Duration gap = now - request.last_token_at;
  if (now >= record_from_) gaps_.add(gap, 1);
  request.max_itl = std::max(request.max_itl, gap);
  request.last_token_at = now;
}

void Emissions::prefill_token(Request& request, SimTime now) {
  ++tokens_;
  if (request.first_token_at == kNever) {
    request.first_token_at = now;
    request.last_token_at = now;
  } else {
    own_gap(request, now);
  }
}

void Emissions::joins(Sequences& all, SeqId id, bool with_cohort) {
  all[id].gaps_from = ordinal_ + 1;
  if (with_cohort) return;
  all[id].fresh = true;
  fresh_.push_back(id);
}

void Emissions::close_gaps(Request& request, const Sequence& sequence) const {
  request.max_itl = std::max(request.max_itl, maxima_.since(sequence.gaps_from));
  request.last_token_at = last_;
}

void Emissions::cohort_tokens(RequestTable& requests, Sequences& all, SimTime now, std::int64_t count,
                              std::span<const SeqId> sitters, std::span<const std::uint32_t> orphans) {
  tokens_ += count;
  ++ordinal_;
  std::int64_t own = 0;
  still_fresh_.clear();
  for (const SeqId id : fresh_) {
    Sequence& sequence = all[id];
    if (std::find(sitters.begin(), sitters.end(), id) != sitters.end()) {
      still_fresh_.push_back(id);
      continue;
    }
    own_gap(requests[sequence.request], now);
    sequence.fresh = false;
    sequence.gaps_from = ordinal_ + 1;
    ++own;
  }
  fresh_.swap(still_fresh_);
  for (const SeqId id : sitters) {
    Sequence& sequence = all[id];
    if (sequence.fresh || !sequence.stamped) continue;
    close_gaps(requests[sequence.request], sequence);
    sequence.fresh = true;
    fresh_.push_back(id);
  }
  for (const std::uint32_t request : orphans) own_gap(requests[request], now);
  const std::int64_t together = count - own - static_cast<std::int64_t>(orphans.size());
  if (together > 0) {
    if (now >= record_from_) gaps_.add(now - last_, together);
    maxima_.push(ordinal_, now - last_);
  }
  last_ = now;
}

void Emissions::settle(Request& request, Sequences& all, SeqId id) {
  Sequence& sequence = all[id];
  if (sequence.fresh) {
    std::erase(fresh_, id);
    sequence.fresh = false;
  } else {
    close_gaps(request, sequence);
  }
}

}  // namespace servecast
