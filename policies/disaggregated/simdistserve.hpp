// How DistServe's own simulator schedules, where it differs from the engine (schedulers.md C.6): its decode replicas,
// and how many steps it decodes a request. There is no KV memory in it, so nothing waits for memory, is held back or
// swapped.
#pragma once

#include <vector>

#include "sim/arrival_source.hpp"
#include "sim/replica_view.hpp"
#include "sim/scheduler.hpp"

namespace servecast {

// A queue, of which each step runs the first that fit a budget of context tokens; they go to its end, behind those that
// came meanwhile. The head always runs. A pipeline has one for each of its slots. Requires memory for all.
class SimdistserveDecode final : public Scheduler {
 public:
  static constexpr Tokens kContextBudget{50'000};  // written into that simulator, whatever the device

  explicit SimdistserveDecode(Tokens context_budget = kContextBudget) : context_budget_(context_budget) {}

  void next_batch(ReplicaView& replica, SimTime now, Batch& batch) override;
  void restart() override { queues_.clear(); }

 private:
  struct Queued {
    SeqId sequence;
    RequestId request;  // sequences are numbered anew when one ends
    bool ran = false;   // in the latest step
  };
  using Queue = std::vector<Queued>;
  static void requeue(ReplicaView& replica, Queue& queue);
  [[nodiscard]] std::size_t those_that_fit(const ReplicaView& replica, const Queue& queue) const;

  Tokens context_budget_;
  std::vector<Queue> queues_;  // by slot
};

// It decodes a request of n output tokens in n steps after the prefill, one more than an engine, whose prefill emits
// the first token. Here that is a request of n + 1 tokens: TPOT, over n gaps, then is its decode time over n.
class OneTokenMore final : public ArrivalSource {
 public:
  // The source must outlive it.
  explicit OneTokenMore(ArrivalSource& source) : source_(source) {}

  std::optional<Arrival> next() override;
  [[nodiscard]] bool closed_loop() const override { return source_.closed_loop(); }
  void finished(RequestId request, SimTime at) override { source_.finished(request, at); }

 private:
  ArrivalSource& source_;
};

}  // namespace servecast
