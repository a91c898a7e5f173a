// vLLM V0: prefills first, in steps of their own; paged KV; recompute preemption (schedulers.md C.3).
#pragma once

#include <optional>

#include "sim/replica_view.hpp"
#include "sim/scheduler.hpp"

namespace servecast {

struct VllmV0Options {
  std::int64_t max_num_seqs = 256;
  std::optional<Tokens> max_num_batched_tokens;  // absent: the larger of 2,048 and the model's length
  double watermark = 0.01;                       // share of the blocks that admission leaves free
};

class VllmV0Scheduler final : public Scheduler {
 public:
  static constexpr Tokens kLeastBudget{2048};

  explicit VllmV0Scheduler(const VllmV0Options& options)
      : options_(options), budget_(options.max_num_batched_tokens.value_or(kLeastBudget)) {}
  void next_batch(ReplicaView& replica, SimTime now, Batch& batch) override;

 private:
  void admit_prefills(ReplicaView& replica, Batch& batch) const;

  VllmV0Options options_;
  Tokens budget_;
};

}  // namespace servecast
