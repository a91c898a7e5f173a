#include "costmodel/kv_network.hpp"

#include <doctest/doctest.h>
#include <vector>

#include "costmodel/model_config.hpp"
#include "tests/unit/costmodel/sample_models.hpp"
#include "tests/unit/costmodel/sample_topology.hpp"

using namespace servecast;

namespace {

constexpr std::int64_t kGiga = 1'000'000'000;

// Four hosts of one GPU, each with its own link to a switch: a with 10 GB/s, b with 4, c and d with 100. A way is two
// hops of half a millisecond.
const char* const kFourHosts = R"(topology: four
name: Four hosts
link_types:
  ten: {medium: network, bandwidth: {value: 10e9, unit: B/s, source: t}, latency: {value: 0.5e-3, unit: s, source: t}}
  four: {medium: network, bandwidth: {value: 4e9, unit: B/s, source: t}, latency: {value: 0.5e-3, unit: s, source: t}}
  wide: {medium: network, bandwidth: {value: 1e11, unit: B/s, source: t}, latency: {value: 0.5e-3, unit: s, source: t}}
hosts:
  a: {nodes: {a: {kind: gpu}}}
  b: {nodes: {b: {kind: gpu}}}
  c: {nodes: {c: {kind: gpu}}}
  d: {nodes: {d: {kind: gpu}}}
network:
  nodes: {switch: {kind: switch}}
  links:
    - {from: a, to: switch, type: ten}
    - {from: b, to: switch, type: four}
    - {from: c, to: switch, type: wide}
    - {from: d, to: switch, type: wide}
)";

SimTime at_ms(std::int64_t milliseconds) { return SimTime{std::chrono::milliseconds{milliseconds}}; }

Parallelism tensor(std::int64_t ranks) { return {Sharding{ranks}, 1, {}}; }

std::vector<TransferId> ended(KvNetwork& network, SimTime now) {
  const auto transfers = network.ended_by(now);
  return {transfers.begin(), transfers.end()};
}

// When the only transfer that runs ends.
SimTime end_of_one(KvNetwork& network) {
  for (;;) {
    const SimTime look = network.next_look();
    REQUIRE(look < kNever);
    if (!network.ended_by(look).empty()) return look;
  }
}

}  // namespace

TEST_CASE("three transfers that share two links end when max-min rates and the way's latency say") {
  // First goes from a to c, over a's 10 GB/s; both from a to b, over a's 10 and b's 4; second from d to b, over b's 4.
  //   0 s    b's link is the scarcer: 4/2 = 2 GB/s each for both and second; first takes the rest of a's: 8.
  //   1 s    second has its 2 GB, and has come 1 ms later. both: 4, less than its half of a's; first: 10 - 4 = 6.
  //   2 s    both has 2 + 4 = 6 GB. first has 8 + 6 = 14 of 16 GB and is alone: 10.
  //   2.2 s  first has the last 2 GB.
  const Topology topology = parse_topology(kFourHosts, "four.yaml");
  const Routes routes(topology);
  const std::vector<PlacedReplica> senders{{{{0}}}, {{{3}}}}, receivers{{{{2}}}, {{{1}}}};
  KvNetwork network(routes, {{0, 0, Bytes{kGiga}}}, {tensor(1), senders}, {tensor(1), receivers});
  const TransferId first = network.start(kStart, ReplicaId{0}, ReplicaId{2}, Bytes{16 * kGiga});
  const TransferId both = network.start(kStart, ReplicaId{0}, ReplicaId{3}, Bytes{6 * kGiga});
  const TransferId second = network.start(kStart, ReplicaId{1}, ReplicaId{3}, Bytes{2 * kGiga});
  CHECK(network.ledger().running == 3);

  CHECK(network.next_look() == at_ms(1001));
  CHECK(ended(network, at_ms(1001)) == std::vector{second});
  CHECK(network.next_look() == at_ms(2001));
  CHECK(ended(network, at_ms(2001)) == std::vector{both});
  CHECK(network.ledger().arrived == Bytes{8 * kGiga});
  CHECK(network.next_look() == at_ms(2201));
  CHECK(ended(network, at_ms(2201)) == std::vector{first});
  CHECK(network.next_look() == kNever);
  CHECK(network.ledger().arrived == Bytes{24 * kGiga});
  CHECK(network.ledger().running == 0);

  // a's link carried 22 GB of the 40 that it can in 4 s, b's 8 of 16.
  const auto busiest = network.busiest(std::chrono::seconds{4});
  REQUIRE(busiest);
  CHECK(topology.links()[busiest->link].from == topology.node_of(0));
  CHECK(busiest->share == doctest::Approx(22.0 / 40));
}

TEST_CASE(
    "one that is cut leaves its share to the others and is never told of, whether its bytes flow or are on the way") {
  // Two share b's 4 GB/s: 8 GB would come at 4 s. The other one is cut at 1 s, and what is left, 6 GB, comes at 2.5 s.
  const Topology topology = parse_topology(kFourHosts, "four.yaml");
  const Routes routes(topology);
  const std::vector<PlacedReplica> senders{{{{2}}}, {{{3}}}}, receivers{{{{1}}}};
  KvNetwork network(routes, {{0, 0, Bytes{kGiga}}}, {tensor(1), senders}, {tensor(1), receivers});
  const TransferId stays = network.start(kStart, ReplicaId{0}, ReplicaId{2}, Bytes{8 * kGiga});
  const TransferId flows = network.start(kStart, ReplicaId{1}, ReplicaId{2}, Bytes{8 * kGiga});
  network.cut(at_ms(1000), flows);
  CHECK(network.ledger().running == 1);
  CHECK(network.next_look() == at_ms(2501));
  CHECK(ended(network, at_ms(2501)) == std::vector{stays});
  CHECK(network.ledger().arrived == Bytes{8 * kGiga});

  const TransferId late = network.start(at_ms(3000), ReplicaId{0}, ReplicaId{2}, Bytes{4 * kGiga});
  network.cut(SimTime{std::chrono::microseconds{4'000'500}}, late);  // its last byte has left and not come
  CHECK(network.ledger().running == 0);
  CHECK(network.next_look() == kNever);
  CHECK(network.ledger().arrived == Bytes{8 * kGiga});
}

TEST_CASE("one that starts while another runs takes half of what they share from then on") {
  // 8 GB over b's 4 GB/s alone would take until 2 s. From 1 s on it has 2 GB/s for its last 4 GB; so has the other,
  // whose 2 GB come by 2 s. Then 2 GB are left at 4 GB/s: 2.5 s.
  const Topology topology = parse_topology(kFourHosts, "four.yaml");
  const Routes routes(topology);
  const std::vector<PlacedReplica> senders{{{{2}}}, {{{3}}}}, receivers{{{{1}}}};
  KvNetwork network(routes, {{0, 0, Bytes{kGiga}}}, {tensor(1), senders}, {tensor(1), receivers});
  const TransferId early = network.start(kStart, ReplicaId{0}, ReplicaId{2}, Bytes{8 * kGiga});
  CHECK(network.next_look() == at_ms(2001));
  const TransferId late = network.start(at_ms(1000), ReplicaId{1}, ReplicaId{2}, Bytes{2 * kGiga});
  CHECK(network.next_look() == at_ms(2001));
  CHECK(ended(network, at_ms(2001)) == std::vector{late});
  CHECK(network.next_look() == at_ms(2501));
  CHECK(ended(network, at_ms(2501)) == std::vector{early});
}

TEST_CASE("alone, a transfer takes what its parts take together, however the two sides divide the model") {
  const Topology topology = parse_topology(kSampleTopology, "small.yaml");
  const Routes routes(topology);
  const ModelShape model = parse_model(kLlama31Config, "llama-3.1-8b");
  for (const std::int64_t from : {1, 2, 4}) {
    for (const std::int64_t to : {1, 2, 4}) {
      CAPTURE(from);
      CAPTURE(to);
      std::vector<GpuIndex> left, right;
      for (GpuIndex gpu = 0; gpu < from; ++gpu) left.push_back(gpu);
      for (GpuIndex gpu = 0; gpu < to; ++gpu) right.push_back(4 + gpu);
      const std::vector<PlacedReplica> senders{{{left}}}, receivers{{{right}}};
      const auto block = kv_parts(model, DType::kBf16, tensor(from), tensor(to), Tokens{16});
      const auto whole = kv_parts(model, DType::kBf16, tensor(from), tensor(to), Tokens{16 * 50});
      const auto flows = kv_flows(whole, {senders[0], tensor(from)}, {receivers[0], tensor(to)}, routes);
      KvNetwork network(routes, block, {tensor(from), senders}, {tensor(to), receivers});
      const Bytes bytes = kv_bytes(model, DType::kBf16, Tokens{16 * 50});  // eight heads: each exists once
      static_cast<void>(network.start(at_ms(7), ReplicaId{0}, ReplicaId{1}, bytes));
      CHECK(end_of_one(network) == at_ms(7) + transfer_time(topology, flows));
      CHECK(network.ledger().arrived == bytes);
    }
  }
}

TEST_CASE("a transfer waits for the last of its parts, and leaves the links of the others before") {
  // Parts of 1 and 3 GB from a and d to b and c: over b's link 1 GB at 4 GB/s, over the wide one 3 GB at 100 GB/s.
  const Topology topology = parse_topology(kFourHosts, "four.yaml");
  const Routes routes(topology);
  const std::vector<PlacedReplica> senders{{{{0, 3}}}}, receivers{{{{1, 2}}}};
  KvNetwork network(routes, {{0, 0, Bytes{kGiga}}, {1, 1, Bytes{3 * kGiga}}}, {tensor(2), senders},
                    {tensor(2), receivers});
  static_cast<void>(network.start(kStart, ReplicaId{0}, ReplicaId{1}, Bytes{4 * kGiga}));
  CHECK(network.next_look() == at_ms(31));  // the second part has come; the transfer has not
  CHECK(network.ended_by(at_ms(31)).empty());
  CHECK(network.ledger().running == 1);
  CHECK(network.next_look() == at_ms(251));
  CHECK(network.ended_by(at_ms(251)).size() == 1);
}
