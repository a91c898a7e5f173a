#include "costmodel/kv_transfer.hpp"

#include <doctest/doctest.h>
#include <map>

#include "costmodel/model_config.hpp"
#include "tests/unit/costmodel/sample_models.hpp"
#include "tests/unit/costmodel/sample_topology.hpp"

using namespace servecast;

namespace {

Parallelism parallel(std::int64_t tensor, std::int64_t pipeline = 1) { return {Sharding{tensor}, pipeline, {}}; }

ModelShape llama() { return parse_model(kLlama31Config, "llama-3.1-8b"); }  // 32 layers, 8 key-value heads

// What each rank holds of a sequence, by rank.
std::vector<Bytes> held(const ModelShape& model, const Parallelism& parallelism, Tokens tokens) {
  std::vector<Bytes> bytes;
  for (const ModelShape& stage : pipeline_stages(model, parallelism)) {
    for (std::int64_t rank = 0; rank < parallelism.sharding.tensor; ++rank) {
      bytes.push_back(kv_bytes(shard(stage, parallelism.sharding), DType::kBf16, tokens));
    }
  }
  return bytes;
}

}  // namespace

TEST_CASE("every rank receives exactly the cache it will hold, and none sends what it lacks, however both divide") {
  const Tokens tokens{1000};
  for (const ModelShape& model :
       {llama(), parse_model(kDeepSeekV3Config, "v3"), parse_model(kGptOss20bConfig, "gpt-oss-20b")}) {
    CAPTURE(model.name);
    for (const Parallelism& from : {parallel(1), parallel(2), parallel(8), parallel(16), parallel(4, 3)}) {
      for (const Parallelism& to : {parallel(1), parallel(4), parallel(16), parallel(1, 2), parallel(2, 5)}) {
        std::vector<Bytes> received(static_cast<std::size_t>(to.ranks()));
        std::map<std::int64_t, Bytes> most;  // what one receiver gets from one sender
        for (const KvPart& part : kv_parts(model, DType::kBf16, from, to, tokens)) {
          CHECK(part.bytes > Bytes{0});
          received[static_cast<std::size_t>(part.to)] += part.bytes;
          CHECK(part.bytes <= held(model, from, tokens)[static_cast<std::size_t>(part.from)]);
        }
        CHECK(received == held(model, to, tokens));
      }
    }
  }
}

TEST_CASE("from two tensor ranks to one, each sends its heads; to four stages of one, each sends to all") {
  const ModelShape model = llama();
  const Bytes whole = kv_bytes(model, DType::kBf16, Tokens{100});
  const Bytes half{whole.count() / 2}, eighth{whole.count() / 8};
  CHECK(kv_parts(model, DType::kBf16, parallel(2), parallel(1), Tokens{100}) ==
        std::vector<KvPart>{{0, 0, half}, {1, 0, half}});
  CHECK(kv_parts(model, DType::kBf16, parallel(2), parallel(1, 4), Tokens{100}) == std::vector<KvPart>{{0, 0, eighth},
                                                                                                       {0, 1, eighth},
                                                                                                       {0, 2, eighth},
                                                                                                       {0, 3, eighth},
                                                                                                       {1, 0, eighth},
                                                                                                       {1, 1, eighth},
                                                                                                       {1, 2, eighth},
                                                                                                       {1, 3, eighth}});
  CHECK(kv_parts(model, DType::kBf16, parallel(2), parallel(2), Tokens{100}) ==
        std::vector<KvPart>{{0, 0, half}, {1, 1, half}});
}

TEST_CASE("where several ranks hold a head they send in turn") {
  // 16 ranks hold 8 heads twice; 16 receivers: each sender has one.
  std::map<std::int64_t, int> sent;
  for (const KvPart& part : kv_parts(llama(), DType::kBf16, parallel(16), parallel(16), Tokens{1})) ++sent[part.from];
  CHECK(sent.size() == 16);
  // A latent is whole on all four senders, and four receivers want it.
  const ModelShape model = parse_model(kDeepSeekV3Config, "v3");
  const auto parts = kv_parts(model, DType::kBf16, parallel(4), parallel(4), Tokens{10});
  REQUIRE(parts.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) CHECK(parts[i].from == parts[i].to);
}

TEST_CASE("all parts run together over the topology, and the last byte's way counts") {
  const Topology topology = parse_topology(kSampleTopology, "small.yaml");
  Routes routes(topology);
  const ModelShape model = llama();
  const Bytes whole = kv_bytes(model, DType::kBf16, Tokens{1000});
  const auto time = [&](const Parallelism& from, const PlacedReplica& a, const Parallelism& to,
                        const PlacedReplica& b) {
    const auto parts = kv_parts(model, DType::kBf16, from, to, Tokens{1000});
    const auto flows = kv_flows(parts, {a, from}, {b, to}, routes);
    return seconds(transfer_time(topology, flows));
  };
  const auto bytes = static_cast<double>(whole.count());
  // Inside a host: one NVLink of 100 GB/s and a way of 2 us. Between hosts: a card of 5 GB/s, 14 us.
  CHECK(time(parallel(1), {{{0}}}, parallel(1), {{{1}}}) == doctest::Approx(bytes / 100e9 + 2e-6).epsilon(1e-6));
  CHECK(time(parallel(1), {{{0}}}, parallel(1), {{{4}}}) == doctest::Approx(bytes / 5e9 + 14e-6).epsilon(1e-6));
  // Two ranks with a card each take half as long; with the same card, as long.
  CHECK(time(parallel(2), {{{0, 2}}}, parallel(2), {{{4, 6}}}) == doctest::Approx(bytes / 10e9 + 14e-6).epsilon(1e-6));
  CHECK(time(parallel(2), {{{0, 1}}}, parallel(2), {{{4, 5}}}) == doctest::Approx(bytes / 5e9 + 14e-6).epsilon(1e-6));
  // To the same GPUs nothing moves.
  CHECK(time(parallel(2), {{{0, 1}}}, parallel(2), {{{0, 1}}}) == 0);
}

TEST_CASE("the copy of the attention that holds a sequence says which GPUs send it") {
  const Topology topology = parse_topology(kSampleTopology, "small.yaml");
  Routes routes(topology);
  const Parallelism copies{Sharding{2, 2, true}, 1, {}};
  const PlacedReplica four{{{0, 1, 2, 3}}};
  const std::vector<KvPart> parts{{1, 0, Bytes{10}}};
  const auto flows = kv_flows(parts, {four, copies, 1}, {{{{5}}}, parallel(1)}, routes);
  CHECK(flows[0].links == routes.path(3, 5).links);
}
