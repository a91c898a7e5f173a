// Any scheduler as that of a replica which decodes what others have prefilled.
#pragma once

#include <memory>

#include "sim/replica_view.hpp"
#include "sim/scheduler.hpp"

namespace servecast {

// Before the scheduler is asked, those whose KV has come join, first come, first served, while fewer than
// `most_running` run and every one that runs could take a block more. Whom it preempts computes its KV anew here.
class DecodePool final : public Scheduler {
 public:
  // `each_slot`: so many run in each slot of a pipeline, and not in all together.
  DecodePool(std::unique_ptr<Scheduler> scheduler, std::int64_t most_running, bool each_slot, RunningOrder order)
      : scheduler_(std::move(scheduler)), most_running_(most_running), each_slot_(each_slot), order_(order) {}

  void next_batch(ReplicaView& replica, SimTime now, Batch& batch) override;
  void on_finish() override { scheduler_->on_finish(); }
  void restart() override { scheduler_->restart(); }

 private:
  std::unique_ptr<Scheduler> scheduler_;
  std::int64_t most_running_;
  bool each_slot_;
  RunningOrder order_;
};

}  // namespace servecast
