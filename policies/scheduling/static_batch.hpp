// Request-level batching as in FasterTransformer (schedulers.md C.1): a batch runs to the end of its longest
// answer; nobody joins it, and all its memory is held until then.
// A pipeline has a batch in each slot, as FasterTransformer's micro-batches.
#pragma once

#include <vector>

#include "sim/replica_view.hpp"
#include "sim/scheduler.hpp"

namespace servecast {

struct StaticOptions {
  std::int64_t batch_size = 8;
  Tokens max_len{2048};         // reserved for every request, prompt and answer together
  bool padding = true;          // prompts and contexts are padded to the longest of the batch
  bool deliver_at_end = false;  // answers leave together when the batch ends; otherwise token by token
  Duration wait_for_batch{0};   // how long an idle engine waits for a full batch after the first arrival
};

class StaticScheduler final : public Scheduler {
 public:
  explicit StaticScheduler(const StaticOptions& options) : options_(options) {}
  void next_batch(ReplicaView& replica, SimTime now, Batch& batch) override;
  void restart() override { running_.clear(); }

 private:
  struct Running {
    std::int64_t size = 0;
    Tokens longest;  // context of its longest member
  };

  void form(ReplicaView& replica, Batch& batch, Running& made) const;

  StaticOptions options_;
  std::vector<Running> running_;  // the batch in each slot of the pipeline
};

}  // namespace servecast
