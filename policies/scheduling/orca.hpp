// Iteration-level scheduling with selective batching (Orca's Algorithm 1; schedulers.md C.2). KV memory is
// reserved in contiguous slots when a request starts, so nothing is ever preempted.
#pragma once

#include "sim/replica_view.hpp"
#include "sim/request.hpp"
#include "sim/scheduler.hpp"

namespace servecast {

enum class Reservation : std::uint8_t {
  kMaxTokens,   // prompt + the client's cap
  kMax,         // max_len for everybody
  kPowerOfTwo,  // prompt + the answer's length rounded up to a power of two (asks the oracle)
  kExact,       // prompt + the answer's length (asks the oracle)
};

struct OrcaOptions {
  std::int64_t max_batch = 128;
  Reservation reserve = Reservation::kMaxTokens;
  Tokens max_len{2048};  // what kMax reserves
};

class OrcaScheduler final : public Scheduler {
 public:
  // `oracle` is asked by kPowerOfTwo and kExact only, and must outlive the scheduler.
  OrcaScheduler(const OrcaOptions& options, const OutputOracle& oracle) : options_(options), oracle_(oracle) {}
  void next_batch(ReplicaView& replica, SimTime now, Batch& batch) override;

 private:
  [[nodiscard]] Tokens reservation(const RequestView& request) const;

  OrcaOptions options_;
  const OutputOracle& oracle_;
};

}  // namespace servecast
