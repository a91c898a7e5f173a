#include "costmodel/kv_transfer.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace servecast {
namespace {

// How the heads of one attention lie on the tensor ranks: in order, either several heads a rank, or several ranks with
// the same head. A latent is one head that all hold.
struct HeadMap {
  std::int64_t heads = 1;
  std::int64_t per_rank = 1;
  std::int64_t holders = 1;  // ranks with the same heads

  HeadMap(const Attention& part, std::int64_t tensor)
      : heads(part.latent ? 1 : part.kv_heads),
        per_rank(std::max<std::int64_t>(1, heads / tensor)),
        holders(std::max<std::int64_t>(1, tensor / heads)) {}

  [[nodiscard]] std::int64_t first_of(std::int64_t rank) const { return rank / holders * per_rank; }
  [[nodiscard]] std::int64_t rank_of(std::int64_t head) const { return head / per_rank * holders; }
};

struct Ends {
  std::int64_t from;
  std::int64_t to;
  auto operator<=>(const Ends&) const = default;
};

using Bits = std::map<Ends, std::int64_t>;  // per token

struct Side {
  std::int64_t tensor;
  std::int64_t stage;
  [[nodiscard]] std::int64_t rank(std::int64_t tensor_rank) const { return stage * tensor + tensor_rank; }
};

void add_layer(const Attention& part, DType kv, const Side& from, const Side& to, Bits& bits) {
  const HeadMap have(part, from.tensor);
  const HeadMap want(part, to.tensor);
  const std::int64_t per_head = kv_bits_per_token(part, kv) / have.heads;
  for (std::int64_t rank = 0; rank < to.tensor; ++rank) {
    const std::int64_t turn = rank % want.holders % have.holders;
    for (std::int64_t head = want.first_of(rank); head < want.first_of(rank) + want.per_rank; ++head) {
      bits[{from.rank(have.rank_of(head) + turn), to.rank(rank)}] += per_head;
    }
  }
}

}  // namespace

std::vector<KvPart> kv_parts(const ModelShape& model, DType kv, const Parallelism& from, const Parallelism& to,
                             Tokens tokens) {
  // Divided once for its checks alone: heads that do not divide are refused as everywhere.
  static_cast<void>(shard(model, from.sharding));
  static_cast<void>(shard(model, to.sharding));
  Bits bits;
  const std::vector<LayerRange> have = stage_ranges(model, from);
  const std::vector<LayerRange> want = stage_ranges(model, to);
  for (std::size_t a = 0; a < have.size(); ++a) {
    for (std::size_t b = 0; b < want.size(); ++b) {
      const std::int64_t last = std::min(have[a].last, want[b].last);
      for (std::int64_t i = std::max(have[a].first, want[b].first); i < last; ++i) {
        const Layer& layer = model.layers[static_cast<std::size_t>(i)];
        add_layer(model.attentions[layer.attention], kv, {from.sharding.tensor, static_cast<std::int64_t>(a)},
                  {to.sharding.tensor, static_cast<std::int64_t>(b)}, bits);
      }
    }
  }
  std::vector<KvPart> parts;
  for (const auto& [ends, per_token] : bits) {
    parts.push_back({ends.from, ends.to, Bytes{(per_token * tokens.count() + 7) / 8}});
  }
  return parts;
}

std::vector<KvFlow> kv_flows(std::span<const KvPart> parts, const KvEnd& from, const KvEnd& to, const Routes& routes) {
  const auto gpu = [](const KvEnd& end, std::int64_t rank) {
    const std::int64_t tensor = end.parallelism.sharding.tensor;
    const auto& stage = end.replica.stages[static_cast<std::size_t>(rank / tensor)];
    return stage[static_cast<std::size_t>(end.copy * tensor + rank % tensor)];
  };
  std::vector<KvFlow> flows;
  for (const KvPart& part : parts) {
    Route route = routes.path(gpu(from, part.from), gpu(to, part.to));
    flows.push_back({std::move(route.links), route.latency, part.bytes});
  }
  return flows;
}

Duration transfer_time(const Topology& topology, std::span<const KvFlow> flows) {
  FlowNetwork network(topology.reached_bytes_per_second());
  std::map<FlowId, Duration> latency;
  for (const KvFlow& flow : flows) latency[network.start(kStart, flow.links, flow.bytes)] = flow.latency;
  SimTime last = kStart;
  while (network.running() > 0) {
    const SimTime end = network.next_completion();
    for (const FlowId flow : network.advance(end)) last = std::max(last, end + latency[flow]);
  }
  return last - kStart;
}

}  // namespace servecast
