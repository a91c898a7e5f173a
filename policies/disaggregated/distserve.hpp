// DistServe's two engines (schedulers.md C.6). Prefill: whole prompts, first come, first served. Decode: everybody
// who fits decodes in every step; where memory ends, the last to join is swapped to the host.
#pragma once

#include "sim/replica_view.hpp"
#include "sim/scheduler.hpp"

namespace servecast {

struct DistserveOptions {
  std::int64_t prefill_max_batch = 128;
  Tokens prefill_max_tokens{8192};  // in one step
  std::int64_t decode_max_batch = 1024;
  Tokens decode_max_tokens{65536};  // in one step: one a sequence
  bool as_simdistserve = false;     // decode replicas as its authors' simulator has them (simdistserve.hpp)
};

class DistservePrefill final : public Scheduler {
 public:
  explicit DistservePrefill(const DistserveOptions& options) : options_(options) {}
  // The blocks of those that have not been pulled yet are in use: when they fill the memory, nobody is admitted.
  void next_batch(ReplicaView& replica, SimTime now, Batch& batch) override;

 private:
  DistserveOptions options_;
};

class DistserveDecode final : public Scheduler {
 public:
  explicit DistserveDecode(const DistserveOptions& options) : options_(options) {}
  void next_batch(ReplicaView& replica, SimTime now, Batch& batch) override;

 private:
  bool admit(ReplicaView& replica, Batch& batch) const;

  DistserveOptions options_;
};

}  // namespace servecast
