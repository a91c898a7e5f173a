#include "sim/cohort.hpp"

#include <algorithm>
#include <bit>
#include <cassert>

namespace servecast {

Cohort::Cohort(Tokens block_size, bool grows, std::optional<Tokens> window)
    : block_size_(block_size.count()),
      window_(window ? window->count() : 0),
      grows_(grows),
      need_(static_cast<std::size_t>(block_size.count())),
      crossers_(window ? std::bit_ceil(static_cast<std::size_t>(window->count()) + 1) : 0),
      wheel_(static_cast<std::size_t>(kWheel), kNoSeq) {
  assert(block_size_ > 0);
}

void Cohort::join(Sequences& all, SeqId id, std::int64_t remaining) {
  assert(remaining >= 1);
  Sequence& member = all[id];
  member.phase = Sequence::Phase::kDecode;
  member.joined_at = step_;
  member.finish_at = step_ + remaining - 1;
  add_aggregates(member);
  link(all, id);
}

void Cohort::leave(Sequences& all, SeqId id) {
  unlink(all, id);
  remove_aggregates(all[id]);
}

void Cohort::sit_out(Sequences& all, SeqId id) {
  leave(all, id);
  Sequence& member = all[id];
  ++member.joined_at;
  ++member.finish_at;
  // Seen from the coming step its context is unchanged one step later: count it as one less now.
  add_aggregates(member);
  link(all, id);
}

void Cohort::add_aggregates(const Sequence& member) {
  const std::int64_t now = context(member);
  ++count_;
  stored_ += now;
  if (grows_) ++need_[slot(member.joined_at - member.computed)];
  if (window_ == 0) return;
  windowed_ += std::min(now + 1, window_);
  if (crossing(member) > step_) {
    ++unclipped_;
    ++crossers_[static_cast<std::size_t>(crossing(member)) & (crossers_.size() - 1)];
  }
}

void Cohort::remove_aggregates(const Sequence& member) {
  const std::int64_t now = context(member);
  --count_;
  stored_ -= now;
  if (grows_) --need_[slot(member.joined_at - member.computed)];
  if (window_ == 0) return;
  windowed_ -= std::min(now + 1, window_);
  if (crossing(member) > step_) {
    --unclipped_;
    --crossers_[static_cast<std::size_t>(crossing(member)) & (crossers_.size() - 1)];
  }
}

void Cohort::end_those_due(Sequences& all, std::vector<SeqId>& finishers) {
  SeqId id = wheel_[static_cast<std::size_t>(step_ & (kWheel - 1))];
  while (id != kNoSeq) {
    const SeqId next = all[id].bucket_next;
    if (all[id].finish_at == step_) {
      leave(all, id);
      finishers.push_back(id);
    }
    id = next;
  }
}

void Cohort::advance_window() {
  windowed_ += unclipped_;
  std::int64_t& crossed = crossers_[static_cast<std::size_t>(step_) & (crossers_.size() - 1)];
  unclipped_ -= crossed;
  crossed = 0;
}

void Cohort::link(Sequences& all, SeqId id) {
  SeqId& head = wheel_[static_cast<std::size_t>(all[id].finish_at & (kWheel - 1))];
  all[id].bucket_previous = kNoSeq;
  all[id].bucket_next = head;
  if (head != kNoSeq) all[head].bucket_previous = id;
  head = id;
}

void Cohort::unlink(Sequences& all, SeqId id) {
  const Sequence& member = all[id];
  if (member.bucket_previous == kNoSeq) {
    wheel_[static_cast<std::size_t>(member.finish_at & (kWheel - 1))] = member.bucket_next;
  } else {
    all[member.bucket_previous].bucket_next = member.bucket_next;
  }
  if (member.bucket_next != kNoSeq) all[member.bucket_next].bucket_previous = member.bucket_previous;
}

}  // namespace servecast
