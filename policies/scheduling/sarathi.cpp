#include "policies/scheduling/sarathi.hpp"

#include <algorithm>

#include "policies/scheduling/growth.hpp"
#include "policies/scheduling/watermark.hpp"

namespace servecast {

void SarathiScheduler::next_batch(ReplicaView& replica, SimTime, Batch& batch) {
  batch.when_empty = WhenEmpty::kPass;
  if (prefilled_last_.size() < replica.slots()) prefilled_last_.resize(replica.slots());
  const std::size_t slot = replica.slot();
  const bool decode_turn =
      options_.share_step || prefilled_last_[slot] || (replica.prefilling_count() == 0 && !replica.has_waiting());
  if (decode_turn) decode_with_a_spare_block(replica, batch);
  const std::int64_t decodes = batch.decode_all ? replica.decoding_count() : batch.decode_listed;
  prefilled_last_[slot] = false;
  if (!options_.share_step && decodes > 0) {
    batch.blocked_by = Blocker::kBudget;
    return;
  }
  Tokens left = std::max(Tokens{0}, options_.token_budget - Tokens{decodes});
  continue_prefills(replica, batch, left);
  admit(replica, batch, left);
  prefilled_last_[slot] = !batch.prefills.empty();
  if (batch.empty() && !decode_turn) decode_with_a_spare_block(replica, batch);  // memory let no chunk in
  if (options_.share_step && batch.decode_all && batch.prefills.empty() && replica.prefilling_count() == 0) {
    batch.steady_above = Blocks{1};
  }
}

void SarathiScheduler::continue_prefills(ReplicaView& replica, Batch& batch, Tokens& left) {
  // The unfinished are nearly always the latest: look for them from the back, run them from the oldest.
  unfinished_.clear();
  std::int64_t count = replica.prefilling_count();
  for (SeqId id = replica.last_running(); count > 0; id = replica.previous_running(id)) {
    if (!replica.prefills(id)) continue;
    unfinished_.push_back(id);
    --count;
  }
  for (auto id = unfinished_.rbegin(); id != unfinished_.rend() && left > Tokens{0}; ++id) {
    const Tokens tokens = std::min(replica.left_to_prefill(*id), left);
    replica.prefill(batch, *id, tokens, Blocks{0});
    left -= tokens;
  }
}

void SarathiScheduler::admit(ReplicaView& replica, Batch& batch, Tokens& left) const {
  const Blocks watermark = watermark_blocks(replica, options_.watermark);
  while (replica.has_waiting()) {
    const Tokens whole = replica.head().to_prefill();
    const Blocks need = replica.blocks_of(whole);
    if (need + watermark > replica.usable_blocks()) {
      replica.refuse_head(Refusal::kCache);
      continue;
    }
    if (replica.free_blocks() - need < watermark) {
      batch.blocked_by = Blocker::kMemory;
      return;
    }
    if (replica.running_in_all() >= options_.max_num_seqs) {
      batch.blocked_by = Blocker::kSlot;
      return;
    }
    if (left == Tokens{0}) {
      batch.blocked_by = Blocker::kBudget;
      return;
    }
    const Tokens tokens = std::min(whole, left);
    replica.admit_head(batch, need, tokens, RunningOrder::kArrival);
    left -= tokens;
  }
}

}  // namespace servecast
