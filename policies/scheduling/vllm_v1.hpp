// vLLM V1: one token budget for running and waiting alike, chunked prefill (schedulers.md C.4).
#pragma once

#include <optional>

#include "sim/replica_view.hpp"
#include "sim/scheduler.hpp"

namespace servecast {

struct VllmV1Options {
  Tokens max_num_batched_tokens{2048};
  std::int64_t max_num_seqs = 128;
  Tokens long_prefill_token_threshold{0};  // longest chunk of one prompt in a step; 0: no limit
  bool chunked_prefill = true;
  bool reserve_full_isl = true;  // the whole prompt must fit the free blocks at admission
  double watermark = 0.0;        // share of the blocks that admission leaves free while something runs
};

class VllmV1Scheduler final : public Scheduler {
 public:
  explicit VllmV1Scheduler(const VllmV1Options& options) : options_(options) {}
  void next_batch(ReplicaView& replica, SimTime now, Batch& batch) override;

 private:
  [[nodiscard]] Tokens limited(Tokens wanted) const;
  [[nodiscard]] std::optional<SeqId> first_prefill_behind_decodes(const ReplicaView& replica) const;
  void schedule_running(ReplicaView& replica, Batch& batch, Tokens& budget) const;
  // From `id` on, until the budget is used up or a sequence had to throw itself out.
  void schedule_from(ReplicaView& replica, Batch& batch, Tokens& budget, SeqId id) const;
  void admit(ReplicaView& replica, Batch& batch, Tokens budget) const;

  VllmV1Options options_;
};

}  // namespace servecast
