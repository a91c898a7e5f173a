// vLLM V0: prefills first, in steps of their own; paged KV; recompute preemption (schedulers.md C.3).
#pragma once

#include "sim/replica_view.hpp"
#include "sim/scheduler.hpp"

namespace servecast {

struct VllmV0Options {
  std::int64_t max_num_seqs = 256;
  Tokens max_num_batched_tokens{2048};
  double watermark = 0.01;  // share of the blocks that admission leaves free
};

class VllmV0Scheduler final : public Scheduler {
 public:
  explicit VllmV0Scheduler(const VllmV0Options& options) : options_(options) {}
  void next_batch(ReplicaView& replica, SimTime now, Batch& batch) override;

 private:
  void admit_prefills(ReplicaView& replica, Batch& batch) const;

  VllmV0Options options_;
};

}  // namespace servecast
