#include "costmodel/collectives.hpp"

#include <doctest/doctest.h>
#include <numeric>
#include <vector>

#include "tests/unit/costmodel/sample_topology.hpp"

using namespace servecast;
using doctest::Approx;

namespace {

// NVLink reaches 100 GB/s with ways of 2 us; hosts are joined by two cards of 5 GB/s each, ways of 14 us.
const Topology& small() {
  static const Topology topology = parse_topology(kSampleTopology, "small.yaml");
  return topology;
}

Collectives group(std::vector<GpuIndex> ranks, std::optional<CustomAllReduce> custom = std::nullopt) {
  Routes routes(small());
  return {routes, std::move(ranks), custom};
}

constexpr double kBig = 1e9;
constexpr double kExact = 1e-12;  // rounding of sums alone

// Relative: Approx alone allows nearly `share` itself where values are far below 1.
Approx close_to(double expected, double share) { return Approx(expected).epsilon(share).scale(0); }

}  // namespace

TEST_CASE("one rank has nothing to do") {
  const Collectives alone = group({2});
  for (const Collective what :
       {Collective::kAllReduce, Collective::kAllGather, Collective::kReduceScatter, Collective::kAllToAll}) {
    CHECK(alone.cost(what, kBig).seconds == 0);
  }
}

TEST_CASE("large rings send 2(n-1)/n of the bytes, or (n-1)/n, over one link each") {
  const Collectives four = group({0, 1, 2, 3});
  const CollectiveCost reduce = four.all_reduce(kBig);
  CHECK(reduce.algorithm == CollectiveAlgorithm::kRing);
  CHECK(reduce.protocol == CollectiveProtocol::kSimple);
  CHECK(reduce.seconds == close_to(8.4e-6 + 6 * 3.4e-6 + 1.5 * kBig / 100e9, kExact));
  CHECK(four.all_gather(kBig).seconds == close_to(8.4e-6 + 3 * 3.4e-6 + 0.75 * kBig / 100e9, kExact));
  CHECK(four.reduce_scatter(kBig).seconds == four.all_gather(kBig).seconds);
  CHECK(four.cost(Collective::kReduceScatter, kBig).seconds == four.all_gather(kBig).seconds);
  // Each rank sends three of its four parts at once.
  CHECK(four.all_to_all(kBig).seconds == close_to(8.4e-6 + 3.4e-6 + 0.75 * kBig / 100e9, kExact));
}

TEST_CASE("small messages cost the steps of the quickest protocol, which no way's latency is longer than") {
  // The way takes 2 us, longer than the 0.6 us that NCCL counts for a step over NVLink.
  CHECK(group({0, 1, 2, 3}).all_reduce(0).seconds == close_to(6.6e-6 + 6 * 2e-6, kExact));
  CHECK(group({0, 1, 2, 3}).all_gather(0).seconds == close_to(6.6e-6 + 3 * 2e-6, kExact));
  CHECK(group({0, 1}).all_to_all(0).seconds == close_to(6.6e-6 + 2e-6, kExact));
}

TEST_CASE("across hosts the rings share the network cards") {
  // Four rings of a quarter each. Two end at each card: half a byte over 5 GB/s is a byte over 10 GB/s. Of the seven
  // steps one crosses.
  const Collectives eight = group({0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(eight.all_gather(kBig).seconds == close_to(8.4e-6 + 6 * 3.4e-6 + 14e-6 + 7.0 / 8 * kBig / 10e9, kExact));
  // Two trees of half the bytes: each host sends one up and one down, at 0.92 of what the cards carry. A ring would
  // send 14/8. A simple step of a tree takes 28 us: three inside and one across, up and down.
  const CollectiveCost reduce = eight.all_reduce(kBig);
  CHECK(reduce.algorithm == CollectiveAlgorithm::kTree);
  CHECK(reduce.seconds == close_to(2 * 4 * 28e-6 + kBig / (0.92 * 10e9), kExact));
  // One GPU of each host: its card alone. NCCL counts two crossings for each host.
  CHECK(group({0, 4}).all_reduce(kBig).seconds == close_to(8.4e-6 + 4 * 14e-6 + kBig / 5e9, kExact));
  // Two whose card is the same are no faster than one.
  const double steps = 8.4e-6 + 2 * 3.4e-6 + 14e-6;
  CHECK(group({0, 1, 4, 5}).all_gather(kBig).seconds == close_to(steps + 0.75 * kBig / 5e9, kExact));
  CHECK(group({0, 2, 4, 6}).all_gather(kBig).seconds == close_to(steps + 0.75 * kBig / 10e9, kExact));
}

TEST_CASE("an all-to-all across hosts waits for what crosses them") {
  // Of each rank's eight parts four go to the other host: 4 ranks * 4/8 over two cards of 5 GB/s.
  CHECK(group({0, 1, 2, 3, 4, 5, 6, 7}).all_to_all(kBig).seconds == close_to(8.4e-6 + 14e-6 + 2 * kBig / 10e9, kExact));
}

TEST_CASE("a tree has fewer steps across hosts than a ring and wins where they count") {
  const Topology many = parse_topology(kSampleTopology, "small.yaml", 16);
  Routes routes(many);
  std::vector<GpuIndex> ranks(64);
  std::iota(ranks.begin(), ranks.end(), GpuIndex{0});
  const CollectiveCost small_one = Collectives(routes, ranks).all_reduce(0);
  CHECK(small_one.algorithm == CollectiveAlgorithm::kTree);
  // Chains of 3 steps of 2 us and log2 16 hosts of 14 us, up and down.
  CHECK(small_one.seconds == close_to(6.8e-6 + 2 * (3 * 2e-6 + 4 * 14e-6), kExact));
  CHECK(Collectives(routes, ranks).all_reduce(kBig).algorithm == CollectiveAlgorithm::kRing);
}

TEST_CASE("engines use their own all-reduce for small messages inside a host") {
  const CustomAllReduce custom{4e-6, 0.5};
  const Collectives two = group({0, 1}, custom);
  const Collectives four = group({0, 1, 2, 3}, custom);
  // Half of 125 GB/s. One shot: every peer's vector; two shots: twice a part of each.
  CHECK(two.all_reduce(1e6).seconds == close_to(4e-6 + 1e6 / 62.5e9, kExact));
  CHECK(four.all_reduce(1e5).seconds == close_to(4e-6 + 3e5 / 62.5e9, kExact));
  CHECK(four.all_reduce(1e5).algorithm == CollectiveAlgorithm::kOneShot);
  CHECK(four.all_reduce(1e6).seconds == close_to(4e-6 + 1.5e6 / 62.5e9, kExact));
  CHECK(four.all_reduce(1e6).algorithm == CollectiveAlgorithm::kTwoShot);
  // Below 8 MiB, not at it.
  CHECK(four.uses_custom(8 * 1024 * 1024 - 16));
  CHECK_FALSE(four.uses_custom(8 * 1024 * 1024));
  CHECK(four.all_reduce(8 * 1024 * 1024).algorithm == CollectiveAlgorithm::kRing);
  CHECK(group({0, 1, 2}, custom).all_reduce(1e5).algorithm != CollectiveAlgorithm::kOneShot);
  CHECK(group({0, 4}, custom).all_reduce(1e5).algorithm != CollectiveAlgorithm::kOneShot);
}

TEST_CASE("over PCIe only two ranks use the engine's all-reduce, and sockets bound a ring") {
  const Topology box = load_topology(SERVECAST_SOURCE_DIR "/topologies/pcie-a100.yaml");
  Routes routes(box);
  const CustomAllReduce custom{5e-6, 0.6};
  CHECK(Collectives(routes, {0, 1}, custom).uses_custom(1e5));
  CHECK_FALSE(Collectives(routes, {0, 1, 2, 3}, custom).uses_custom(1e5));
  // One byte crosses the sockets each way, at 24 GB/s; a card sends one at 24.003.
  CHECK(Collectives(routes, {0, 1, 4, 5}).all_gather(kBig).seconds ==
        close_to(8.4e-6 + 3 * 5.7e-6 + 0.75 * kBig / 24e9, kExact));
}

TEST_CASE("sends at the same time share what they cross") {
  Routes routes(small());
  const std::vector<PointToPoint::Pair> apart{{0, 4}, {2, 6}}, same_card{{0, 4}, {1, 5}}, itself{{3, 3}};
  CHECK(PointToPoint(routes, apart).cost(kBig).seconds == close_to(8.4e-6 + 14e-6 + kBig / 5e9, kExact));
  CHECK(PointToPoint(routes, same_card).cost(kBig).seconds == close_to(8.4e-6 + 14e-6 + 2 * kBig / 5e9, kExact));
  CHECK(PointToPoint(routes, itself).cost(kBig).seconds == 0);
  // A step of NCCL's over a network and the way's 14 us: the longer.
  CHECK(PointToPoint(routes, apart).cost(0).seconds == close_to(6.6e-6 + 14e-6, kExact));
}

TEST_CASE("more bytes never cost less, by one rule of choice, and no collective beats its links") {
  for (const auto& ranks : {std::vector<GpuIndex>{0, 1}, {0, 1, 2, 3}, {0, 1, 2, 3, 4, 5, 6, 7}, {1, 2, 5}}) {
    const Collectives g = group(ranks);
    const double n = static_cast<double>(ranks.size());
    for (const Collective what : {Collective::kAllReduce, Collective::kAllGather, Collective::kAllToAll}) {
      double before = 0;
      for (double bytes = 1; bytes < 1e10; bytes *= 1.7) {
        const double now = g.cost(what, bytes).seconds;
        CHECK(now >= before);
        CHECK(now >= (n - 1) / n * bytes / 100e9);
        before = now;
      }
    }
  }
}
