#include "policies/scheduling/vllm_v1.hpp"

#include <algorithm>

#include "policies/scheduling/growth.hpp"
#include "policies/scheduling/watermark.hpp"

namespace servecast {

void VllmV1Scheduler::next_batch(ReplicaView& replica, SimTime, Batch& batch) {
  Tokens budget = options_.max_num_batched_tokens;
  const std::int64_t running_before = replica.running_count();
  schedule_running(replica, batch, budget);
  const bool preempted = replica.running_count() < running_before;
  if (preempted) {
    batch.blocked_by = Blocker::kMemory;
    batch.when_empty = WhenEmpty::kPass;
    return;
  }
  admit(replica, batch, budget);
  if (batch.decode_all && batch.prefills.empty() && replica.prefilling_count() == 0) batch.steady_above = Blocks{0};
}

Tokens VllmV1Scheduler::limited(Tokens wanted) const {
  const Tokens threshold = options_.long_prefill_token_threshold;
  return threshold > Tokens{0} ? std::min(wanted, threshold) : wanted;
}

// The usual shape of the running set: all that decode, then all that prefill. Gives the first of the latter
// (kNoSeq when there is none), or nothing when the two are mixed.
std::optional<SeqId> VllmV1Scheduler::first_prefill_behind_decodes(const ReplicaView& replica) const {
  SeqId first = kNoSeq;
  std::int64_t left = replica.prefilling_count();
  for (SeqId id = replica.last_running(); left > 0; id = replica.previous_running(id)) {
    if (replica.decodes(id)) return std::nullopt;
    if (!replica.prefills(id)) continue;
    first = id;
    --left;
  }
  return first;
}

void VllmV1Scheduler::schedule_running(ReplicaView& replica, Batch& batch, Tokens& budget) const {
  const Tokens decodes{replica.decoding_count()};
  const std::optional<SeqId> first_prefill = first_prefill_behind_decodes(replica);
  if (first_prefill && decodes <= budget && replica.decode_growth() <= replica.free_blocks()) {
    replica.decode_all(batch);
    budget -= decodes;
    schedule_from(replica, batch, budget, *first_prefill);
  } else {
    schedule_from(replica, batch, budget, replica.first_running());
  }
}

void VllmV1Scheduler::schedule_from(ReplicaView& replica, Batch& batch, Tokens& budget, SeqId id) const {
  for (; id != kNoSeq && budget > Tokens{0}; id = replica.next_running(id)) {
    if (replica.decodes(id)) {
      if (!make_room(replica, id, replica.decode_growth(id))) return;
      replica.decode(batch, id);
      budget -= Tokens{1};
    } else if (replica.prefills(id)) {
      const Tokens tokens = std::min(limited(replica.left_to_prefill(id)), budget);
      const Blocks need = replica.prefill_growth(id, tokens);
      if (!make_room(replica, id, need)) return;
      replica.prefill(batch, id, tokens, need);
      budget -= tokens;
    }
  }
}

void VllmV1Scheduler::admit(ReplicaView& replica, Batch& batch, Tokens budget) const {
  const Blocks watermark = watermark_blocks(replica, options_.watermark);
  // Prompts that slots of a pipeline have begun side by side could take each other's memory for ever.
  const Blocks promised = replica.slots() > 1 ? replica.promised_elsewhere() : Blocks{0};
  while (replica.has_waiting()) {
    if (budget <= Tokens{0}) {
      batch.blocked_by = Blocker::kBudget;
      return;
    }
    if (replica.running_in_all() >= options_.max_num_seqs) {
      batch.blocked_by = Blocker::kSlot;
      return;
    }
    const RequestView head = replica.head();
    const Tokens whole = head.to_prefill();
    const Tokens wanted = limited(whole);
    const bool uncut = !options_.chunked_prefill;
    const bool returning = head.emitted > Tokens{0};
    if (uncut && wanted > options_.max_num_batched_tokens && !returning) {
      replica.refuse_head(Refusal::kTokenBudget);
      continue;
    }
    // What has emitted is never refused: grown too long for the budget, it comes back alone.
    const bool alone = uncut && returning && batch.empty();
    if (uncut && wanted > budget && !alone) {
      batch.blocked_by = Blocker::kBudget;
      return;
    }
    const Tokens tokens = alone ? wanted : std::min(wanted, budget);
    const Blocks need = replica.blocks_of(tokens);
    const Blocks must_fit = options_.reserve_full_isl ? replica.blocks_of(whole) : need;
    const Blocks spare = replica.running_in_all() > 0 ? watermark : Blocks{0};
    if (must_fit + spare + promised > replica.free_blocks()) {
      batch.blocked_by = Blocker::kMemory;
      return;
    }
    replica.admit_head(batch, need, tokens, RunningOrder::kAdmission);
    budget -= tokens;
  }
}

}  // namespace servecast
