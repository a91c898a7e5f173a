#include "sim/flow_network.hpp"

#include <algorithm>
#include <cassert>
#include <functional>

namespace servecast {
namespace {

// Down, so that a link never carries more than it may.
std::int64_t units_per_nanosecond(std::int64_t bytes_per_second) {
  return static_cast<std::int64_t>(Wide{bytes_per_second} * FlowNetwork::kUnitsPerByte / 1'000'000'000);
}

constexpr unsigned kSlotBits = 32;

}  // namespace

FlowNetwork::FlowNetwork(std::span<const std::int64_t> bytes_per_second) : links_(bytes_per_second.size()) {
  for (std::size_t link = 0; link < links_.size(); ++link) {
    links_[link].capacity = units_per_nanosecond(bytes_per_second[link]);
    assert(links_[link].capacity > 0);
  }
}

bool FlowNetwork::is_current(const End& end) const {
  const Flow& flow = flow_of(end.id);
  return flow.runs && flow.id == end.id && flow.end == end.at;
}

FlowNetwork::Slot FlowNetwork::take_slot() {
  if (free_slots_.empty()) {
    flows_.emplace_back();
    return static_cast<Slot>(flows_.size() - 1);
  }
  const Slot slot = free_slots_.back();
  free_slots_.pop_back();
  return slot;
}

FlowId FlowNetwork::start(SimTime now, std::span<const LinkIndex> links, Bytes bytes) {
  const Slot slot = take_slot();
  Flow& flow = flows_[slot];
  flow.id = FlowId{started_++ << kSlotBits | slot};
  flow.links.assign(links.begin(), links.end());
  flow.asked = flow.left = Wide{bytes.count()} * kUnitsPerByte;
  flow.since = now;
  flow.rate = 0;
  flow.runs = true;
  ++running_;
  for (const LinkIndex link : links) links_[link].flows.push_back(slot);
  const FlowId id = flow.id;
  if (flow.left == 0 || links.empty()) {
    flow.left = 0;
    flow.end = now;
    ends_.push_back({now, id});
    std::push_heap(ends_.begin(), ends_.end(), std::greater<>{});
  } else {
    flow.end = kNever;
    refill(now, links);
  }
  return id;
}

void FlowNetwork::remove(SimTime now, Slot slot) {
  Flow& flow = flows_[slot];
  flow.runs = false;
  --running_;
  for (const LinkIndex link : flow.links) {
    std::vector<Slot>& sharing = links_[link].flows;
    sharing.erase(std::find(sharing.begin(), sharing.end(), slot));
  }
  refill(now, flow.links);
  free_slots_.push_back(slot);
}

Bytes FlowNetwork::cancel(SimTime now, FlowId flow) {
  const Wide left = flow_of(flow).asked - delivered_units(now, flow);
  remove(now, slot_of(flow));
  return Bytes{static_cast<std::int64_t>((left + kUnitsPerByte - 1) / kUnitsPerByte)};
}

void FlowNetwork::drop_stale_ends() {
  while (!ends_.empty() && !is_current(ends_.front())) {
    std::pop_heap(ends_.begin(), ends_.end(), std::greater<>{});
    ends_.pop_back();
  }
}

SimTime FlowNetwork::next_completion() {
  drop_stale_ends();
  return ends_.empty() ? kNever : ends_.front().at;
}

std::span<const FlowId> FlowNetwork::advance(SimTime now) {
  ended_.clear();
  while (next_completion() <= now && !ends_.empty()) {
    const End end = ends_.front();
    ended_.push_back(end.id);
    remove(end.at, slot_of(end.id));
  }
  return ended_;
}

double FlowNetwork::bytes_per_second(FlowId flow) const {
  return static_cast<double>(flow_of(flow).rate) * 1e9 / static_cast<double>(kUnitsPerByte);
}

Wide FlowNetwork::delivered_units(SimTime now, FlowId flow) const {
  const Flow& f = flow_of(flow);
  return f.asked - f.left + std::min(f.left, Wide{f.rate} * (now - f.since).count());
}

void FlowNetwork::refill(SimTime now, std::span<const LinkIndex> links) {
  ++visits_;
  reached_links_.clear();
  reached_flows_.clear();
  reach(links);
  if (!reached_flows_.empty()) fill(now);
}

void FlowNetwork::reach(std::span<const LinkIndex> links) {
  for (const LinkIndex link : links) add_link(link);
  for (std::size_t next = 0; next < reached_links_.size(); ++next) {
    for (const Slot slot : links_[reached_links_[next]].flows) {
      Flow& flow = flows_[slot];
      if (flow.visit == visits_) continue;
      flow.visit = visits_;
      flow.fixed = flow.left == 0;  // it ends now, and takes nothing
      reached_flows_.push_back(slot);
      for (const LinkIndex other : flow.links) add_link(other);
    }
  }
}

void FlowNetwork::add_link(LinkIndex link) {
  Link& l = links_[link];
  if (l.visit == visits_) return;
  l.visit = visits_;
  l.free = l.capacity;
  l.waits = 0;
  reached_links_.push_back(link);
}

// Progressive filling: the link with the least for each of its flows settles them, and the rest is shared again.
void FlowNetwork::fill(SimTime now) {
  for (const Slot slot : reached_flows_) {
    if (flows_[slot].fixed) continue;
    for (const LinkIndex link : flows_[slot].links) ++links_[link].waits;
  }
  shares_.clear();
  for (const LinkIndex link : reached_links_) {
    if (links_[link].waits > 0) shares_.push_back({links_[link].free / links_[link].waits, link});
  }
  std::make_heap(shares_.begin(), shares_.end(), std::greater<>{});
  while (!shares_.empty()) {
    std::pop_heap(shares_.begin(), shares_.end(), std::greater<>{});
    const Share least = shares_.back();
    shares_.pop_back();
    const Link& link = links_[least.link];
    if (link.waits == 0) continue;
    if (const std::int64_t share = link.free / link.waits; share != least.rate) {
      // Others were settled below this link's share since: what is left for each has grown.
      shares_.push_back({share, least.link});
      std::push_heap(shares_.begin(), shares_.end(), std::greater<>{});
      continue;
    }
    for (const Slot slot : link.flows) {
      if (!flows_[slot].fixed) fix(now, slot, least.rate);
    }
  }
}

void FlowNetwork::fix(SimTime now, Slot slot, std::int64_t rate) {
  Flow& flow = flows_[slot];
  flow.fixed = true;
  for (const LinkIndex link : flow.links) {
    links_[link].free -= rate;
    --links_[link].waits;
  }
  if (rate == flow.rate) return;
  flow.left -= std::min(flow.left, Wide{flow.rate} * (now - flow.since).count());
  flow.since = now;
  flow.rate = rate;
  const Wide nanoseconds = (flow.left + rate - 1) / rate;
  const Wide most = (kNever - now).count();
  flow.end = nanoseconds >= most ? kNever : now + Duration{static_cast<std::int64_t>(nanoseconds)};
  ends_.push_back({flow.end, flow.id});
  std::push_heap(ends_.begin(), ends_.end(), std::greater<>{});
}

}  // namespace servecast
