// A request that holds a place in a replica: its position in the running set and, while it decodes, its
// place in the cohort. Slots are pooled and reused.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/time.hpp"

namespace servecast {

enum class SeqId : std::uint32_t {};
inline constexpr SeqId kNoSeq{0xffffffffU};

struct Sequence {
  enum class Phase : std::uint8_t {
    kPrefill,   // its prompt (or what preemption threw away) is not yet all planned
    kDecode,    // member of the cohort
    kDraining,  // its last token here is planned; it holds its place until that step has ended
    kArriving,  // its KV comes, or has come, from another replica; it has memory and no place
  };

  std::uint32_t request = 0;
  SeqId previous = kNoSeq, next = kNoSeq;                // running set
  SeqId bucket_previous = kNoSeq, bucket_next = kNoSeq;  // cohort: those that end at the same step
  Phase phase = Phase::kPrefill;
  bool fresh = false;           // its next gap is its own, not the cohort's
  bool stamped = false;         // its prefill's token has been stamped: it is in the decode ledger
  bool placed = true;           // in the running set (false: draining, but its place was taken from it)
  std::int64_t computed = 0;    // prefill: tokens planned so far. decode: context when it joined
  std::int64_t target = 0;      // prefill: tokens to compute before the next emission
  std::int64_t blocks = 0;      // owned before it decoded, or reserved; a decoding one's growth is derived
  std::int64_t joined_at = 0;   // cohort step at which it decodes first
  std::int64_t finish_at = 0;   // cohort step that plans its last token
  std::int64_t listed_in = -1;  // step whose plan lists it by name (only where a policy decodes a subset)
  std::int64_t gaps_from = 0;   // first cohort gap that is also its own
};

// The pool of slots.
class Sequences {
 public:
  [[nodiscard]] Sequence& operator[](SeqId id) { return slots_[static_cast<std::uint32_t>(id)]; }
  [[nodiscard]] const Sequence& operator[](SeqId id) const { return slots_[static_cast<std::uint32_t>(id)]; }

  SeqId acquire() {
    if (free_.empty()) {
      slots_.emplace_back();
      return SeqId{static_cast<std::uint32_t>(slots_.size() - 1)};
    }
    const SeqId id = free_.back();
    free_.pop_back();
    (*this)[id] = Sequence{};
    return id;
  }
  void release(SeqId id) { free_.push_back(id); }

 private:
  std::vector<Sequence> slots_;
  std::vector<SeqId> free_;
};

// Of a running set: by request number, or by when they were let in.
enum class RunningOrder : std::uint8_t { kArrival, kAdmission };

// The running set, in the order the policy keeps it. Doubly linked through the sequences.
class RunningList {
 public:
  [[nodiscard]] SeqId first() const { return first_; }
  [[nodiscard]] SeqId last() const { return last_; }
  [[nodiscard]] std::int64_t size() const { return size_; }

  void push_back(Sequences& all, SeqId id) { insert_after(all, last_, id); }

  // Keeps the list sorted by request number (arrival order); cheap when `id` is among the latest.
  void insert_by_arrival(Sequences& all, SeqId id) {
    SeqId after = last_;
    while (after != kNoSeq && all[after].request > all[id].request) after = all[after].previous;
    insert_after(all, after, id);
  }

  void remove(Sequences& all, SeqId id) {
    const Sequence& gone = all[id];
    (gone.previous == kNoSeq ? first_ : all[gone.previous].next) = gone.next;
    (gone.next == kNoSeq ? last_ : all[gone.next].previous) = gone.previous;
    --size_;
  }

 private:
  void insert_after(Sequences& all, SeqId after, SeqId id) {
    const SeqId before = after == kNoSeq ? first_ : all[after].next;
    all[id].previous = after;
    all[id].next = before;
    (after == kNoSeq ? first_ : all[after].next) = id;
    (before == kNoSeq ? last_ : all[before].previous) = id;
    ++size_;
  }

  SeqId first_ = kNoSeq, last_ = kNoSeq;
  std::int64_t size_ = 0;
};

}  // namespace servecast
