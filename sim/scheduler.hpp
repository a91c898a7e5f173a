// The question a scheduler answers: what does the next step of this replica run?
#pragma once

#include "sim/batch.hpp"
#include "sim/time.hpp"

namespace servecast {

class ReplicaView;

class Scheduler {
 public:
  virtual ~Scheduler() = default;

  // Fills `batch` (empty on entry) by way of `replica`, which admits, grows and preempts as it is told.
  // An empty batch means wait, unless `when_empty` says otherwise.
  virtual void next_batch(ReplicaView& replica, SimTime now, Batch& batch) = 0;

  // A request of this replica finished, or left it, or its memory did (schedulers that keep state about it want to
  // know).
  virtual void on_finish() {}

  // The replica lost all that it had, and begins anew.
  virtual void restart() {}
};

}  // namespace servecast
