// When tokens come out: inter-token gaps and their maximum per request. Decoding sequences emit together,
// so their gap is recorded once with a weight; only a sequence whose last token came at another moment
// than the cohort's ("fresh") is recorded by itself.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/accounting.hpp"
#include "sim/log_histogram.hpp"
#include "sim/request_table.hpp"
#include "sim/sequence.hpp"

namespace servecast {

class Emissions {
 public:
  // Tokens are delivered together at the end of their batch: there are no gaps to record.
  void deliver_whole() { record_from_ = kNever; }
  // Gaps that end earlier are not recorded (a warm-up).
  void record_from(SimTime from) { record_from_ = from; }
  // A prefill of `request` ended with a token. `with_cohort`: the cohort emitted in the same step.
  void prefill_token(Request& request, SimTime now);
  // From now on `id` emits with the cohort. Call after the cohort's own emission of this instant.
  void joins(Sequences& all, SeqId id, bool with_cohort);
  // The cohort emitted: `count` tokens in all, none from `sitters`, one from each of `orphans` (requests that
  // lost their place while the token was in flight).
  void cohort_tokens(RequestTable& requests, Sequences& all, SimTime now, std::int64_t count,
                     std::span<const SeqId> sitters, std::span<const std::uint32_t> orphans);
  // Whether all that decode emit together: no sequence has a gap of its own to come.
  [[nodiscard]] bool together() const { return fresh_.empty(); }
  // The same as cohort_tokens when everybody emits together. Requires together().
  void all_together(SimTime now, std::int64_t count) {
    tokens_ += count;
    ++ordinal_;
    if (now >= record_from_) gaps_.add(now - last_, count);
    maxima_.push(ordinal_, now - last_);
    last_ = now;
  }
  // Brings last_token_at and max_itl of a stamped sequence's request up to date before it leaves.
  void settle(Request& request, Sequences& all, SeqId id);

  [[nodiscard]] const LogHistogram& gaps() const { return gaps_; }
  [[nodiscard]] std::int64_t tokens() const { return tokens_; }

 private:
  void own_gap(Request& request, SimTime now);
  void close_gaps(Request& request, const Sequence& sequence) const;

  SimTime record_from_ = kStart;
  LogHistogram gaps_;
  SuffixMaximum maxima_;
  std::vector<SeqId> fresh_, still_fresh_;
  SimTime last_ = kStart;     // of the cohort
  std::int64_t ordinal_ = 0;  // cohort emissions so far
  std::int64_t tokens_ = 0;
};

}  // namespace servecast
