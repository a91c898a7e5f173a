#include "costmodel/collectives.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <unordered_map>

#include "costmodel/nccl_tuning.hpp"

namespace servecast {
namespace {

using Algorithm = CollectiveAlgorithm;
using Protocol = CollectiveProtocol;

constexpr std::array<Protocol, 3> kProtocols{Protocol::kLowLatency, Protocol::kLowLatency128, Protocol::kSimple};
constexpr double kKibibyte = 1024;

double real(std::int64_t value) { return static_cast<double>(value); }
double real(std::size_t value) { return static_cast<double>(value); }

double value_of(const nccl::ByProtocol& values, Protocol protocol) {
  switch (protocol) {
    case Protocol::kLowLatency:
      return values.low_latency;
    case Protocol::kLowLatency128:
      return values.low_latency_128;
    case Protocol::kSimple:
      break;
  }
  return values.simple;
}

// Where NCCL's tables have the medium: NVLink, PCIe (also across sockets), network.
std::size_t row_of(LinkMedium medium) {
  if (medium == LinkMedium::kNvlink) return 0;
  return medium == LinkMedium::kNetwork ? 2 : 1;
}

LinkMedium medium_of(const Route& route, const Topology& topology) {
  LinkMedium slowest = LinkMedium::kNvlink;
  for (const LinkIndex link : route.links) slowest = std::max(slowest, topology.links()[link].medium);
  return slowest;
}

// At what transfers reach; with a share, at that share of the peak of NVLink and PCIe instead.
double fullest_link_s(std::span<const Traffic> traffic, const Routes& routes,
                      std::optional<double> share = std::nullopt) {
  std::unordered_map<LinkIndex, double> load;
  double fullest = 0;
  for (const Traffic& flow : traffic) {
    for (const LinkIndex link : routes.path(flow.from, flow.to).links) {
      const TopologyLink& l = routes.topology().links()[link];
      double& seconds = load[link];
      const bool shared = share && (l.medium == LinkMedium::kNvlink || l.medium == LinkMedium::kPcie);
      seconds += flow.bytes / (shared ? *share * l.bytes_per_second : l.reached());
      fullest = std::max(fullest, seconds);
    }
  }
  return fullest;
}

CollectiveCost cheaper(const CollectiveCost& a, const CollectiveCost& b) { return b.seconds < a.seconds ? b : a; }

// All is sent at once, so it takes one step. NCCL's tuning model does not cover sends; its ring's constants are taken.
// The low-latency protocol sends as many bytes of flags as of data.
template <class StepTime>
CollectiveCost one_step(double transfer_s, const StepTime& step_time) {
  const auto with = [&](Protocol protocol, double copies) {
    const double start = value_of(nccl::kRingBase, protocol) + step_time(protocol);
    return CollectiveCost{start + copies * transfer_s, Algorithm::kDirect, protocol};
  };
  return cheaper(with(Protocol::kSimple, 1), with(Protocol::kLowLatency, 2));
}

}  // namespace

std::string_view algorithm_name(CollectiveAlgorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kNone:
      return "none";
    case Algorithm::kOneShot:
      return "one-shot";
    case Algorithm::kTwoShot:
      return "two-shot";
    case Algorithm::kRing:
      return "ring";
    case Algorithm::kTree:
      return "tree";
    case Algorithm::kDirect:
      return "direct";
  }
  return "none";
}

CustomAllReduce CustomAllReduce::of(const DeviceSheet& device) {
  return {device.link.latency_s, device.efficiency.link};
}

double seconds_of(std::span<const Traffic> traffic, const Routes& routes) { return fullest_link_s(traffic, routes); }

Collectives::Collectives(const Routes& routes, std::vector<GpuIndex> ranks, std::optional<CustomAllReduce> custom)
    : ranks_(std::move(ranks)), custom_(custom) {
  std::map<std::uint32_t, std::vector<GpuIndex>> by_host;
  for (const GpuIndex rank : ranks_) by_host[routes.topology().host_of(rank)].push_back(rank);
  for (auto& [host, members] : by_host) hosts_.push_back(std::move(members));
  measure_routes(routes);
  ring_s_per_byte_ = seconds_of(ring_traffic(), routes);
  tree_s_per_byte_ = seconds_of(tree_traffic(), routes);
  const std::vector<Traffic> pairs = pair_traffic(1);
  pair_s_per_byte_ = seconds_of(pairs, routes);
  if (custom_) custom_s_per_byte_ = fullest_link_s(pairs, routes, custom_->share);
}

void Collectives::measure_routes(const Routes& routes) {
  for (const GpuIndex from : ranks_) {
    for (const GpuIndex to : ranks_) {
      if (from == to) continue;
      const Route route = routes.path(from, to);
      if (routes.topology().host_of(from) == routes.topology().host_of(to)) {
        steps_.inside = std::max(steps_.inside, medium_of(route, routes.topology()));
        steps_.inside_route = std::max(steps_.inside_route, route.latency);
      } else {
        steps_.between_route = std::max(steps_.between_route, route.latency);
      }
    }
  }
}

// Of the host with the fewest.
std::size_t Collectives::fewest_ranks() const {
  const auto smaller = [](const auto& a, const auto& b) { return a.size() < b.size(); };
  return std::min_element(hosts_.begin(), hosts_.end(), smaller)->size();
}

// As many rings as the host with the fewest ranks has, each with its share of the bytes; ring r enters every host at
// that rank, so that all network cards are used.
std::vector<Traffic> Collectives::ring_traffic() const {
  const std::size_t rings = fewest_ranks();
  std::vector<Traffic> traffic;
  for (std::size_t ring = 0; ring < rings && ranks_.size() > 1; ++ring) {
    std::vector<GpuIndex> order;
    for (const auto& host : hosts_) {
      for (std::size_t i = 0; i < host.size(); ++i) order.push_back(host[(ring + i) % host.size()]);
    }
    for (std::size_t i = 0; i < order.size(); ++i) {
      traffic.push_back({order[i], order[(i + 1) % order.size()], 1 / real(rings)});
    }
  }
  return traffic;
}

// A chain inside each host; across hosts two binary trees of half the bytes each, one with the hosts in order and one
// in reverse, so that who passes on in one is a leaf in the other. All of it once per ring, as above.
std::vector<Traffic> Collectives::tree_traffic() const {
  const std::size_t copies = fewest_ranks();
  std::vector<Traffic> traffic;
  const auto up_and_down = [&](GpuIndex a, GpuIndex b, double bytes) {
    traffic.push_back({a, b, bytes});
    traffic.push_back({b, a, bytes});
  };
  for (std::size_t copy = 0; copy < copies && ranks_.size() > 1; ++copy) {
    const double share = 1 / real(copies);
    for (const auto& host : hosts_) {
      for (std::size_t i = 0; i + 1 < host.size(); ++i) {
        up_and_down(host[(copy + i) % host.size()], host[(copy + i + 1) % host.size()], share);
      }
    }
    for (std::size_t h = 1; h < hosts_.size(); ++h) {
      const std::size_t last = hosts_.size() - 1;
      up_and_down(hosts_[h][copy], hosts_[(h - 1) / 2][copy], share / 2);
      up_and_down(hosts_[last - h][copy], hosts_[last - (h - 1) / 2][copy], share / 2);
    }
  }
  return traffic;
}

std::vector<Traffic> Collectives::pair_traffic(double bytes) const {
  std::vector<Traffic> traffic;
  for (const GpuIndex from : ranks_) {
    for (const GpuIndex to : ranks_) {
      if (from != to) traffic.push_back({from, to, bytes});
    }
  }
  return traffic;
}

// A step takes what NCCL says of its medium, or the way's latency where that is longer.
double Collectives::inside_step(Algorithm algorithm, Protocol protocol) const {
  const auto& table = algorithm == Algorithm::kTree ? nccl::kTreeStep : nccl::kRingStep;
  double step = value_of(table[row_of(steps_.inside)], protocol);
  if (algorithm == Algorithm::kRing && hosts_.size() > 1) {
    step = std::max(step, nccl::kNetworkOverhead * (protocol == Protocol::kSimple ? 3 : 1));
  }
  return std::max(step, seconds(steps_.inside_route));
}

double Collectives::between_step(Algorithm algorithm, Protocol protocol) const {
  const auto& table = algorithm == Algorithm::kTree ? nccl::kTreeStep : nccl::kRingStep;
  return std::max(value_of(table[row_of(LinkMedium::kNetwork)], protocol), seconds(steps_.between_route));
}

bool Collectives::allows(Protocol protocol) const {
  return protocol != Protocol::kLowLatency128 || steps_.inside == LinkMedium::kNvlink;
}

// `passes`: 2 for an all-reduce, 1 for a gather or scatter; each pass is n - 1 steps of a part of the bytes.
CollectiveCost Collectives::ring(double bytes, double passes, Protocol protocol) const {
  const double n = real(ranks_.size());
  const double hosts = real(hosts_.size());
  double s_per_byte = ring_s_per_byte_;
  if (protocol == Protocol::kLowLatency) {
    const bool reduces = passes > 1 || hosts_.size() > 1;
    const double share = reduces ? nccl::kLowLatencyShareReducing : nccl::kLowLatencyShareCopying;
    const double most = nccl::kLowLatencyMost[std::min<std::size_t>(hosts_.size(), 3) - 1];
    s_per_byte = std::max(s_per_byte / share, 1 / most);
  } else if (protocol == Protocol::kLowLatency128) {
    s_per_byte /= n < 2 * hosts ? nccl::kLowLatency128ShareAlone : nccl::kLowLatency128Share;
  }
  const double crossing = hosts_.size() == 1 ? 0 : passes > 1 ? 2 * hosts : hosts - 1;
  const double within = std::max(0.0, passes * (n - 1) - crossing);
  const double latency = value_of(nccl::kRingBase, protocol) + within * inside_step(Algorithm::kRing, protocol) +
                         crossing * between_step(Algorithm::kRing, protocol);
  return {latency + passes * (n - 1) / n * bytes * s_per_byte, Algorithm::kRing, protocol};
}

CollectiveCost Collectives::tree(double bytes, Protocol protocol) const {
  const double hosts = real(hosts_.size());
  double s_per_byte = tree_s_per_byte_ / nccl::kTreeShare;
  if (protocol == Protocol::kLowLatency) {
    const double most = nccl::kLowLatencyMost[std::min<std::size_t>(hosts_.size(), 3) - 1];
    s_per_byte = std::max(s_per_byte / nccl::kTreeLowLatencyShare, 2 / most);
  } else if (protocol == Protocol::kLowLatency128) {
    s_per_byte /= hosts_.size() == 1 ? nccl::kTreeLowLatency128Share : nccl::kTreeLowLatency128ShareNetwork;
  }
  const double depth = real(static_cast<std::int64_t>(std::bit_width(hosts_.size())) - 1);
  const double latency = value_of(nccl::kTreeBase, protocol) +
                         2 * ((real(ranks_.size()) / hosts - 1) * inside_step(Algorithm::kTree, protocol) +
                              depth * between_step(Algorithm::kTree, protocol));
  return {latency + bytes * s_per_byte, Algorithm::kTree, protocol};
}

CollectiveCost Collectives::nccl_all_reduce(double bytes) const {
  if (size() == 1) return {};
  CollectiveCost best = ring(bytes, 2, Protocol::kSimple);
  for (const Protocol protocol : kProtocols) {
    if (allows(protocol)) best = cheaper(best, cheaper(ring(bytes, 2, protocol), tree(bytes, protocol)));
  }
  return best;
}

bool Collectives::uses_custom(double bytes) const {
  const std::int64_t n = size();
  const bool joined = hosts_.size() == 1 && (steps_.inside == LinkMedium::kNvlink || n == 2);
  return custom_ && joined && n % 2 == 0 && n <= 8 && bytes < custom_->below_bytes;
}

CollectiveCost Collectives::custom_all_reduce(double bytes) const {
  const std::int64_t n = size();
  const double one_shot_below = n <= 4 ? 512 * kKibibyte : 256 * kKibibyte;
  const bool one_shot = n == 2 || bytes < one_shot_below;
  // One shot: each rank reads every peer's vector. Two shots: its part of each, then each one's sum.
  const double per_pair = one_shot ? bytes : 2 * bytes / real(n);
  return {custom_->latency_s + per_pair * custom_s_per_byte_, one_shot ? Algorithm::kOneShot : Algorithm::kTwoShot,
          Protocol::kLowLatency};
}

CollectiveCost Collectives::all_reduce(double bytes) const {
  if (size() == 1) return {};
  return uses_custom(bytes) ? custom_all_reduce(bytes) : nccl_all_reduce(bytes);
}

CollectiveCost Collectives::all_gather(double bytes) const {
  if (size() == 1) return {};
  CollectiveCost best = ring(bytes, 1, Protocol::kSimple);
  for (const Protocol protocol : kProtocols) {
    if (allows(protocol)) best = cheaper(best, ring(bytes, 1, protocol));
  }
  return best;
}

CollectiveCost Collectives::all_to_all(double bytes) const {
  if (size() == 1) return {};
  return one_step(bytes / real(size()) * pair_s_per_byte_, [&](Protocol protocol) {
    return hosts_.size() > 1 ? between_step(Algorithm::kRing, protocol) : inside_step(Algorithm::kRing, protocol);
  });
}

CollectiveCost Collectives::cost(Collective collective, double bytes) const {
  switch (collective) {
    case Collective::kAllReduce:
      return all_reduce(bytes);
    case Collective::kAllGather:
    case Collective::kReduceScatter:
      return all_gather(bytes);
    case Collective::kAllToAll:
      break;
  }
  return all_to_all(bytes);
}

PointToPoint::PointToPoint(const Routes& routes, std::span<const Pair> pairs) {
  std::vector<Traffic> traffic;
  for (const auto& [from, to] : pairs) {
    if (from == to) continue;
    traffic.push_back({from, to, 1});
    const Route route = routes.path(from, to);
    medium_ = std::max(medium_, medium_of(route, routes.topology()));
    longest_ = std::max(longest_, route.latency);
  }
  s_per_byte_ = seconds_of(traffic, routes);
}

CollectiveCost PointToPoint::cost(double bytes) const {
  if (s_per_byte_ == 0) return {};
  return one_step(bytes * s_per_byte_, [&](Protocol protocol) {
    return std::max(value_of(nccl::kRingStep[row_of(medium_)], protocol), seconds(longest_));
  });
}

}  // namespace servecast
