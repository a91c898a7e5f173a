#include "costmodel/kv_network.hpp"

#include <algorithm>
#include <cassert>
#include <functional>
#include <utility>

namespace servecast {

KvNetwork::KvNetwork(const Routes& routes, std::vector<KvPart> block, Pool prefill, Pool decode)
    : routes_(routes),
      block_(std::move(block)),
      prefill_(std::move(prefill)),
      decode_(std::move(decode)),
      links_(routes.topology().reached_bytes_per_second()),
      least_latency_(Duration::max()),
      carried_(routes.topology().links().size()) {
  for (const KvPart& part : block_) block_bytes_ += part.bytes;
}

const KvNetwork::Way& KvNetwork::way(ReplicaId from, ReplicaId to) {
  const auto [found, is_new] = ways_.try_emplace(std::uint64_t{index_of(from)} << 32 | index_of(to));
  if (is_new) {
    const std::size_t receiver = index_of(to) - prefill_.replicas.size();
    found->second = kv_flows(block_, {prefill_.replicas[index_of(from)], prefill_.parallelism},
                             {decode_.replicas[receiver], decode_.parallelism}, routes_);
    for (const KvFlow& flow : found->second) least_latency_ = std::min(least_latency_, flow.latency);
  }
  return found->second;
}

std::uint32_t KvNetwork::take_transfer() {
  if (free_transfers_.empty()) {
    transfers_.emplace_back();
    return static_cast<std::uint32_t>(transfers_.size() - 1);
  }
  const std::uint32_t transfer = free_transfers_.back();
  free_transfers_.pop_back();
  return transfer;
}

TransferId KvNetwork::start(SimTime now, ReplicaId from, ReplicaId to, Bytes bytes) {
  assert(bytes == block_bytes_ * (bytes / block_bytes_));
  advance(now);
  const Way& parts = way(from, to);
  const std::uint32_t at = take_transfer();
  Transfer& transfer = transfers_[at];
  transfer = {TransferId{started_++}, static_cast<std::uint32_t>(parts.size()), now, Bytes{0}};
  const std::int64_t blocks = bytes / block_bytes_;
  for (const KvFlow& part : parts) {
    const FlowId id = links_.start(now, part.links, part.bytes * blocks);
    const std::uint32_t slot = FlowNetwork::slot_of(id);
    if (slot >= flows_.size()) flows_.resize(slot + std::size_t{1});
    flows_[slot] = {at, &part, id, true};
  }
  return transfer.id;
}

void KvNetwork::cut(SimTime now, TransferId transfer) {
  advance(now);
  ++ended_count_;
  const auto last_bytes = std::find_if(ends_.begin(), ends_.end(), [&](const End& end) { return end.id == transfer; });
  if (last_bytes != ends_.end()) {
    ends_.erase(last_bytes);
    std::make_heap(ends_.begin(), ends_.end(), std::greater<>{});
    return;
  }
  for (Flow& flow : flows_) {
    if (!flow.runs || transfers_[flow.transfer].id != transfer) continue;
    links_.cancel(now, flow.id);
    flow.runs = false;
    if (--transfers_[flow.transfer].flows == 0) free_transfers_.push_back(flow.transfer);
  }
}

// Nothing that runs comes before its flow has left and then been on its way.
SimTime KvNetwork::next_look() {
  const SimTime leaves = links_.next_completion();
  const SimTime comes = leaves == kNever ? kNever : after(leaves, least_latency_);
  return ends_.empty() ? comes : std::min(comes, ends_.front().at);
}

void KvNetwork::advance(SimTime now) {
  for (const FlowId id : links_.advance(now)) flow_ended(id);
}

void KvNetwork::flow_ended(FlowId id) {
  const SimTime left = links_.ended_at(id);
  Flow& flow = flows_[FlowNetwork::slot_of(id)];
  flow.runs = false;
  Transfer& transfer = transfers_[flow.transfer];
  const auto bytes = static_cast<std::int64_t>(links_.delivered_units(left, id) / FlowNetwork::kUnitsPerByte);
  for (const LinkIndex link : flow.over->links) carried_[link] += bytes;
  transfer.carried += Bytes{bytes};
  transfer.arrives = std::max(transfer.arrives, after(left, flow.over->latency));
  if (--transfer.flows > 0) return;
  ends_.push_back({transfer.arrives, transfer.id, transfer.carried});
  std::push_heap(ends_.begin(), ends_.end(), std::greater<>{});
  free_transfers_.push_back(flow.transfer);
}

std::span<const TransferId> KvNetwork::ended_by(SimTime now) {
  advance(now);
  ended_.clear();
  while (!ends_.empty() && ends_.front().at <= now) {
    ended_.push_back(ends_.front().id);
    arrived_ += ends_.front().bytes;
    std::pop_heap(ends_.begin(), ends_.end(), std::greater<>{});
    ends_.pop_back();
  }
  ended_count_ += ended_.size();
  return ended_;
}

std::optional<LinkUse> KvNetwork::busiest(Duration over) const {
  std::optional<LinkUse> most;
  for (LinkIndex link = 0; link < carried_.size(); ++link) {
    const double able = routes_.topology().links()[link].reached() * seconds(over);
    const double share = able > 0 ? static_cast<double>(carried_[link]) / able : 0;
    if (share > (most ? most->share : 0)) most = {link, share};
  }
  return most;
}

}  // namespace servecast
