// A sequence's KV cache on its way from one replica to another that divides the model otherwise: which rank sends which
// how much, and how long that takes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "costmodel/parallelism.hpp"
#include "sim/flow_network.hpp"

namespace servecast {

// A rank is stage · tensor + tensor rank, of one copy of the attention.
struct KvPart {
  std::int64_t from = 0;
  std::int64_t to = 0;
  Bytes bytes;

  friend bool operator==(const KvPart&, const KvPart&) = default;
};

// What each receiving rank lacks: its layers' share of its heads, from the rank of the same layers that holds them. Of
// heads that several ranks hold, or a latent that all do, every receiver gets one copy, the senders taken in turn.
// Sorted by sender, then receiver; no part is empty. Throws InputError as shard and layers_by_stage do.
[[nodiscard]] std::vector<KvPart> kv_parts(const ModelShape& model, DType kv, const Parallelism& from,
                                           const Parallelism& to, Tokens tokens);

// One part over the links of a topology.
struct KvFlow {
  std::vector<LinkIndex> links;
  Duration latency{0};
  Bytes bytes;
};

// `copy`: which copy of the attention holds, and which will hold the sequence.
struct KvEnd {
  const PlacedReplica& replica;
  const Parallelism& parallelism;
  std::int64_t copy = 0;
};

[[nodiscard]] std::vector<KvFlow> kv_flows(std::span<const KvPart> parts, const KvEnd& from, const KvEnd& to,
                                           const Routes& routes);

// Until the last byte has arrived when all start together and nothing else uses the links.
[[nodiscard]] Duration transfer_time(const Topology& topology, std::span<const KvFlow> flows);

}  // namespace servecast
