// The KV transfers of a run over the links of a topology: every part of a sequence goes from the rank that holds it to
// the rank that lacks it, and all that is under way shares the links max-min fairly.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "costmodel/kv_transfer.hpp"
#include "sim/flow_network.hpp"
#include "sim/transfer_network.hpp"

namespace servecast {

// A link, and which share of what transfers reach on it was used.
struct LinkUse {
  LinkIndex link = 0;
  double share = 0;
};

class KvNetwork final : public TransferNetwork {
 public:
  // Its replicas must outlive the network.
  struct Pool {
    Parallelism parallelism;
    std::span<const PlacedReplica> replicas;
  };

  // `block`: what moves of one block of tokens (kv_parts). Replicas are numbered through both pools, those that prefill
  // first; no GPU is in two. The routes must outlive it.
  KvNetwork(const Routes& routes, std::vector<KvPart> block, Pool prefill, Pool decode);

  // It ends when the last byte of its last part has come, the way's latency after it left. Requires whole blocks.
  TransferId start(SimTime now, ReplicaId from, ReplicaId to, Bytes bytes) override;
  void cut(SimTime now, TransferId transfer) override;
  [[nodiscard]] SimTime next_look() override;
  std::span<const TransferId> ended_by(SimTime now) override;
  // What left the links, not what was asked of them.
  [[nodiscard]] TransferLedger ledger() const override { return {arrived_, started_ - ended_count_}; }

  // The link that carried the largest share of what it can over this time, by the flows that have ended; nothing where
  // none has. Of equal ones the first.
  [[nodiscard]] std::optional<LinkUse> busiest(Duration over) const;

 private:
  using Way = std::vector<KvFlow>;  // with the bytes of one block
  struct Transfer {
    TransferId id{};
    std::uint32_t flows = 0;  // that have not ended
    SimTime arrives;          // the last byte of those that have
    Bytes carried;            // by those
  };
  struct Flow {
    std::uint32_t transfer = 0;  // where in `transfers_`
    const KvFlow* over = nullptr;
    FlowId id{};
    bool runs = false;
  };
  struct End {
    SimTime at;
    TransferId id;
    Bytes bytes;
    friend bool operator>(const End& a, const End& b) { return a.at != b.at ? a.at > b.at : a.id > b.id; }
  };

  const Way& way(ReplicaId from, ReplicaId to);
  std::uint32_t take_transfer();
  void advance(SimTime now);
  void flow_ended(FlowId id);

  const Routes& routes_;
  std::vector<KvPart> block_;
  Bytes block_bytes_;
  Pool prefill_, decode_;
  FlowNetwork links_;
  std::unordered_map<std::uint64_t, Way> ways_;  // by both replicas
  Duration least_latency_;                       // of the ways used so far
  std::vector<Transfer> transfers_;
  std::vector<std::uint32_t> free_transfers_;
  std::vector<Flow> flows_;  // by slot
  std::vector<End> ends_;    // a heap: transfers whose last byte is on the way
  std::vector<TransferId> ended_;
  std::vector<std::int64_t> carried_;          // by link: bytes
  std::size_t started_ = 0, ended_count_ = 0;  // those that were cut among them
  Bytes arrived_;
};

}  // namespace servecast
