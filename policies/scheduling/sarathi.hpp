// Sarathi-Serve: stall-free chunked prefill; decodes always run, prefill fills the rest of the token budget
// (schedulers.md C.5).
#pragma once

#include <vector>

#include "sim/replica_view.hpp"
#include "sim/scheduler.hpp"

namespace servecast {

struct SarathiOptions {
  Tokens token_budget{512};
  std::int64_t max_num_seqs = 128;
  double watermark = 0.01;
  // The paper's ablation "chunk-only": chunks and decodes alternate, never sharing a step.
  bool share_step = true;
};

class SarathiScheduler final : public Scheduler {
 public:
  explicit SarathiScheduler(const SarathiOptions& options) : options_(options) {}
  void next_batch(ReplicaView& replica, SimTime now, Batch& batch) override;
  void restart() override { prefilled_last_.clear(); }

 private:
  void continue_prefills(ReplicaView& replica, Batch& batch, Tokens& left);
  void admit(ReplicaView& replica, Batch& batch, Tokens& left) const;

  SarathiOptions options_;
  std::vector<bool> prefilled_last_;  // by slot of the pipeline
  std::vector<SeqId> unfinished_;
};

}  // namespace servecast
