// KV over the links of a topology in runs worked by hand: each step lasts one second, a block is 4 GB.
#include <doctest/doctest.h>

#include "costmodel/kv_network.hpp"
#include "sim/error.hpp"
#include "tests/support/pool_run.hpp"

using namespace servecast;
using namespace servecast::test;

namespace {

using Lines = std::vector<std::string>;
using Times = std::vector<std::vector<std::int64_t>>;

constexpr std::int64_t kBlock = 4'000'000'000;

// A host of two GPUs that share a card, and a host of two with 4 GB/s each. What a hop takes at the card, in seconds;
// it takes nothing elsewhere.
Topology two_hosts(const std::string& card, const std::string& latency) {
  return parse_topology(R"(topology: two
name: Two hosts
link_types:
  bus: {medium: pcie, bandwidth: {value: 100e9, unit: B/s, source: t}, latency: {value: 0, unit: s, source: t}}
  own:
    medium: network
    bandwidth: {value: 8e9, unit: B/s, source: t}
    latency: {value: 0, unit: s, source: t}
    efficiency: {value: 0.5, source: t}
  card: {medium: network, bandwidth: {value: )" +
                            card + ", unit: B/s, source: t}, latency: {value: " + latency + R"(, unit: s, source: t}}
hosts:
  left:
    nodes: {gpu: {kind: gpu, count: 2}, nic: {kind: nic}}
    links: [{from: gpu, to: nic, type: bus}]
  right: {nodes: {alone: {kind: gpu, count: 2}}}
network:
  nodes: {switch: {kind: switch}}
  links: [{from: nic, to: switch, type: card}, {from: alone, to: switch, type: own}]
)",
                        "two.yaml");
}

const Parallelism kOneRank{Sharding{1}, 1, {}};

// Through two replicas that prefill, of one card, and two that decode.
void run_pairs(const std::string& card, std::vector<Spec::Req> requests, PoolOutcomes& out) {
  const Topology topology = two_hosts(card, "0");
  const Routes routes(topology);
  const std::vector<PlacedReplica> from{{{{0}}}, {{{1}}}}, to{{{{2}}}, {{{3}}}};
  KvNetwork network(routes, {{0, 0, Bytes{kBlock}}}, {kOneRank, from}, {kOneRank, to});
  PoolSpec spec;
  spec.requests = std::move(requests);
  spec.prefills = spec.decodes = 2;
  spec.network = &network;
  spec.block_bytes = kBlock;
  run(spec, out);
}

}  // namespace

// 0 A's prompt, two blocks, is prefilled: token 1 at 1 s. The way to the decode replica: 8 GB over the narrowest link,
// 4 GB/s of the receiver's, 2 s, and the last byte's second at the card: it joins at 4 s, tokens 2 and 3 at 5 and 6 s.
TEST_CASE("a prompt's KV comes when its bytes have crossed the narrowest link, and the way's latency after that") {
  const Topology topology = two_hosts("8e9", "1");
  const Routes routes(topology);
  const std::vector<PlacedReplica> from{{{{0}}}}, to{{{{2}}}};
  KvNetwork network(routes, {{0, 0, Bytes{kBlock}}}, {kOneRank, from}, {kOneRank, to});
  PoolSpec spec;
  spec.requests = {{"A", 0, 8, 3}};
  spec.network = &network;
  spec.block_bytes = kBlock;
  PoolOutcomes out;
  run(spec, out);
  CHECK(out.steps[1] == Lines{"t=4 A:D free=997", "t=5 A:D free=997"});
  CHECK(out.emitted_at == Times{{1, 5, 6}});
  CHECK(out.seconds_in(0, Cause::kTransfer) == 3);
  CHECK(out.result.moved.arrived == Bytes{2 * kBlock});
}

// A and B are prefilled beside each other, until 1 s: 4 and 16 GB for a decode replica each. The card could carry 8
// GB/s; each receiver takes 4. A has come at 1 + 1 = 2 s, B at 1 + 4 = 5 s, as if alone.
TEST_CASE("two prompts over one card do not hold each other up while it has room for both") {
  PoolOutcomes out;
  run_pairs("8e9", {{"A", 0, 4, 2}, {"B", 0, 16, 2}}, out);
  CHECK(out.emitted_at == Times{{1, 3}, {1, 6}});
}

// The card carries 2 GB/s, 1 for each. A has its 4 GB at 1 + 4 = 5 s. B then lacks 4 of its 8 GB, and has the card
// alone: 4 / 2 = 2 s more. Alone, A would have come at 3 s and B at 5 s.
TEST_CASE("two prompts over one card share it, and the one that is left goes on with all of it") {
  PoolOutcomes out;
  run_pairs("2e9", {{"A", 0, 4, 2}, {"B", 0, 8, 2}}, out);
  CHECK(out.emitted_at == Times{{1, 6}, {1, 8}});
  CHECK(out.seconds_in(0, Cause::kTransfer) == 4);
  CHECK(out.seconds_in(1, Cause::kTransfer) == 6);
  CHECK(out.result.moved.arrived == Bytes{3 * kBlock});
}

namespace {

// Links between pairs that tell of so much less, and of so many more that are under way, than is true.
class Dishonest final : public TransferNetwork {
 public:
  Dishonest(Bytes lost, std::size_t stuck) : lost_(lost), stuck_(stuck) {}

  TransferId start(SimTime now, ReplicaId from, ReplicaId to, Bytes bytes) override {
    return links_.start(now, from, to, bytes);
  }
  void cut(SimTime now, TransferId transfer) override { links_.cut(now, transfer); }
  SimTime next_look() override { return links_.next_look(); }
  std::span<const TransferId> ended_by(SimTime now) override { return links_.ended_by(now); }
  TransferLedger ledger() const override { return {links_.ledger().arrived - lost_, links_.ledger().running + stuck_}; }

 private:
  DirectLinks links_{1e15, Duration{0}};
  Bytes lost_;
  std::size_t stuck_;
};

}  // namespace

TEST_CASE("a run whose links carried a byte less than was handed over, or have a flow open at the end, fails") {
  const auto run_over = [](Bytes lost, std::size_t stuck) {
    Dishonest network(lost, stuck);
    PoolSpec spec;
    spec.requests = {{"A", 0, 8, 3}};
    spec.network = &network;
    PoolOutcomes out;
    run(spec, out);
  };
  CHECK_NOTHROW(run_over(Bytes{0}, 0));
  CHECK_THROWS_AS(run_over(Bytes{1}, 0), SelfCheckError);
  CHECK_THROWS_AS(run_over(Bytes{0}, 1), SelfCheckError);
}
