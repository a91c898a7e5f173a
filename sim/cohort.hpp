// Sequences that decode in lockstep, one token a step. Kept as aggregates and calendars, so that a step
// costs what changed and not what runs; a member's own numbers are derived when asked.
//
// Steps are counted by the cohort: `step()` is the number of the coming one. A member with context c (KV
// tokens in the cache) attends to c + 1 keys in the coming step, takes a new block iff c is a multiple of
// the block size, and leaves with the step that plans its last token.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/sequence.hpp"
#include "sim/units.hpp"

namespace servecast {

class Cohort {
 public:
  // `grows`: members take a block whenever theirs are full (false for reservations).
  // `window`: where given, decode_window_context counts at most so many keys a member.
  Cohort(Tokens block_size, bool grows, std::optional<Tokens> window);

  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] std::int64_t step() const { return step_; }
  // Σ over the members of the keys they attend to in the coming step.
  [[nodiscard]] Tokens attended() const { return Tokens{stored_ + count_}; }
  [[nodiscard]] Tokens attended_in_window() const { return window_ == 0 ? attended() : Tokens{windowed_}; }
  // Blocks that the coming step takes when every member decodes.
  [[nodiscard]] Blocks growth() const { return Blocks{need_[phase_]}; }

  // `sequence` decodes from the coming step on, with `remaining` >= 1 tokens to go. Requires its context in `computed`.
  void join(Sequences& all, SeqId id, std::int64_t remaining);
  void leave(Sequences& all, SeqId id);
  // The member sits the coming step out: everything of its own moves one step later.
  void sit_out(Sequences& all, SeqId id);
  // Plans the coming step for all members. Those whose last token it is leave and are appended to `finishers`.
  void advance(Sequences& all, std::vector<SeqId>& finishers) {
    if (wheel_[static_cast<std::size_t>(step_ & (kWheel - 1))] != kNoSeq) end_those_due(all, finishers);
    ++step_;
    if (++phase_ == need_.size()) phase_ = 0;
    stored_ += count_;
    if (window_ != 0) advance_window();
  }

  // KV tokens of a member before the coming step.
  [[nodiscard]] std::int64_t context(const Sequence& member) const {
    return member.computed + (step_ - member.joined_at);
  }
  // Tokens a member has planned since it joined.
  [[nodiscard]] std::int64_t planned(const Sequence& member) const { return step_ - member.joined_at; }
  [[nodiscard]] bool takes_block(const Sequence& member) const { return grows_ && context(member) % block_size_ == 0; }

 private:
  static constexpr std::int64_t kWheel = 4096;  // buckets of the finish calendar; later ends go round again

  // Which entry of the block calendar belongs to a step; also right for negative phases.
  [[nodiscard]] std::size_t slot(std::int64_t step) const {
    const std::int64_t remainder = step % block_size_;
    return static_cast<std::size_t>(remainder < 0 ? remainder + block_size_ : remainder);
  }
  [[nodiscard]] std::int64_t crossing(const Sequence& member) const {
    return member.joined_at + window_ - 1 - member.computed;
  }
  void end_those_due(Sequences& all, std::vector<SeqId>& finishers);
  void advance_window();
  void add_aggregates(const Sequence& member);
  void remove_aggregates(const Sequence& member);
  void link(Sequences& all, SeqId id);
  void unlink(Sequences& all, SeqId id);

  std::int64_t block_size_;
  std::int64_t window_;  // 0: none
  bool grows_;
  std::int64_t step_ = 0;
  std::size_t phase_ = 0;  // slot(step_)
  std::int64_t count_ = 0;
  std::int64_t stored_ = 0;             // Σ context
  std::int64_t windowed_ = 0;           // Σ min(context + 1, window)
  std::int64_t unclipped_ = 0;          // members with context + 1 < window
  std::vector<std::int64_t> need_;      // by step modulo block size: members that take a block then
  std::vector<std::int64_t> crossers_;  // by step modulo its size: members that reach the window then
  std::vector<SeqId> wheel_;            // by step modulo kWheel: head of the list of members that end then
};

}  // namespace servecast
