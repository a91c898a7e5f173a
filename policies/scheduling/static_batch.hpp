// Request-level batching as in FasterTransformer (schedulers.md C.1): a batch runs to the end of its longest
// answer; nobody joins it, and all its memory is held until then.
#pragma once

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
  void restart() override { slots_ = 0; }

 private:
  void form(ReplicaView& replica, Batch& batch);

  StaticOptions options_;
  std::int64_t slots_ = 0;  // of the batch that runs
  Tokens longest_;          // context of its longest slot
};

}  // namespace servecast
