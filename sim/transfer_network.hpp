// The question of how long KV takes from one replica to another.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/replica_id.hpp"
#include "sim/time.hpp"
#include "sim/units.hpp"

namespace servecast {

enum class TransferId : std::uint64_t {};  // in order of start, from 0

// What a network has done by its own count, for a run to check against what it handed over.
struct TransferLedger {
  Bytes arrived;  // by transfers that have ended
  std::size_t running = 0;
};

class TransferNetwork {
 public:
  virtual ~TransferNetwork() = default;

  // `now` is never before that of an earlier call, nor after next_look().
  virtual TransferId start(SimTime now, ReplicaId from, ReplicaId to, Bytes bytes) = 0;
  // Ends one that runs; nothing will be told of it. `now` as in start().
  virtual void cut(SimTime now, TransferId transfer) = 0;
  // None ends before it, as long as none starts before; it may be that none ends then either. kNever when none runs.
  [[nodiscard]] virtual SimTime next_look() = 0;
  // Those that end by `now`, in order. Valid until the next call.
  virtual std::span<const TransferId> ended_by(SimTime now) = 0;
  [[nodiscard]] virtual TransferLedger ledger() const = 0;
};

// Every pair of replicas has a link of its own, which all its transfers use as if alone: latency + bytes / bandwidth.
class DirectLinks final : public TransferNetwork {
 public:
  // Requires bytes_per_second > 0 and latency >= 0.
  DirectLinks(double bytes_per_second, Duration latency) : bytes_per_second_(bytes_per_second), latency_(latency) {}

  // How long a transfer takes.
  [[nodiscard]] Duration alone(Bytes bytes) const {
    return latency_ + from_seconds(static_cast<double>(bytes.count()) / bytes_per_second_);
  }
  TransferId start(SimTime now, ReplicaId from, ReplicaId to, Bytes bytes) override;
  void cut(SimTime now, TransferId transfer) override;
  [[nodiscard]] SimTime next_look() override { return running_.empty() ? kNever : running_.front().at; }
  std::span<const TransferId> ended_by(SimTime now) override;
  [[nodiscard]] TransferLedger ledger() const override { return {arrived_, running_.size()}; }

 private:
  struct End {
    SimTime at;
    TransferId id;
    Bytes bytes;
    friend bool operator>(const End& a, const End& b) { return a.at != b.at ? a.at > b.at : a.id > b.id; }
  };

  double bytes_per_second_;
  Duration latency_;
  std::uint64_t started_ = 0;
  Bytes arrived_;
  std::vector<End> running_;  // a heap, the earliest first
  std::vector<TransferId> ended_;
};

}  // namespace servecast
