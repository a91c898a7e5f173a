#include "costmodel/pipeline.hpp"

#include <doctest/doctest.h>
#include <random>
#include <string>

#include "costmodel/model_config.hpp"
#include "sim/error.hpp"
#include "tests/unit/costmodel/sample_device.hpp"
#include "tests/unit/costmodel/sample_models.hpp"
#include "tests/unit/costmodel/sample_topology.hpp"
#include "tests/unit/costmodel/shapes.hpp"

using namespace servecast;
using doctest::Approx;

namespace {

constexpr double kRounded = 1e-4;  // to whole nanoseconds, of microseconds

DeviceSheet device() { return parse_device(kSampleDevice, "x.yaml"); }
ModelShape llama() { return parse_model(kLlama31Config, "llama-3.1-8b"); }
ModelShape deepseek() { return parse_model(kDeepSeekV3Config, "v3"); }

Parallelism parallel(std::int64_t tensor, std::int64_t pipeline = 1) { return {Sharding{tensor}, pipeline, {}}; }

// Relative: Approx alone allows nearly `share` itself where values are far below 1.
Approx close_to(double expected, double share) { return Approx(expected).epsilon(share).scale(0); }

StepShape decode(std::int64_t sequences, std::int64_t context) {
  return {{}, sequences, Tokens{sequences * context}, Tokens{sequences * context}, sequences};
}

}  // namespace

TEST_CASE("one stage without a topology is the roofline model") {
  PipelineModel pipeline(llama(), device(), {}, parallel(2), {Duration{1000}, Duration{10}});
  RooflineModel roofline(llama(), device(), {}, 2, {Duration{1000}, Duration{10}});
  std::mt19937_64 random(1);
  OwnedShape owned;
  for (int i = 0; i < 200; ++i) {
    fill_random(random, llama(), owned);
    const StepCost a = pipeline.stage_cost(0, owned.shape), b = roofline.cost(owned.shape);
    CHECK(a.device == b.device);
    CHECK(a.host == b.host);
  }
}

TEST_CASE("the stages of a pipeline together take as long as the whole, and the host counts once") {
  std::mt19937_64 random(2);
  for (const ModelShape& model : {llama(), deepseek()}) {
    CAPTURE(model.name);
    const Dtypes dtypes = published_dtypes(model);
    const HostTime host{Duration{1000}, Duration{10}};
    PipelineModel whole(model, device(), dtypes, parallel(1), host);
    PipelineModel three(model, device(), dtypes, parallel(1, 3), host);
    OwnedShape owned;
    for (int i = 0; i < 200; ++i) {
      fill_random(random, model, owned);
      StepCost sum;
      for (std::size_t stage = 0; stage < 3; ++stage) {
        const StepCost cost = three.stage_cost(stage, owned.shape);
        sum.device += cost.device;
        sum.host += cost.host;
      }
      const StepCost all = whole.stage_cost(0, owned.shape);
      CHECK(std::abs((sum.device - all.device).count()) <= 3);  // each stage rounds once
      CHECK(sum.host == all.host);
    }
  }
}

TEST_CASE("stages of equal layers differ by the embedding and by the head") {
  PipelineModel pipeline(llama(), device(), {}, parallel(1, 4));
  const StepShape shape = decode(64, 1000);
  const Duration middle = pipeline.stage_cost(1, shape).device;
  CHECK(pipeline.stage_cost(2, shape).device == middle);
  CHECK(pipeline.stage_cost(0, shape).device > middle);
  // The head's weights alone, at the peak.
  const double head = 128256.0 * 4096 * 2 / 3.35e12;
  CHECK(seconds(pipeline.stage_cost(3, shape).device - middle) > head);
  // A stage that samples nothing has no head to run.
  StepShape silent = shape;
  silent.sampled_rows = 0;
  CHECK(seconds(pipeline.stage_cost(3, shape).device - pipeline.stage_cost(3, silent).device) > head);
  CHECK(pipeline.stage_cost(1, silent).device == middle);
}

TEST_CASE(
    "what is handed on are two streams of hidden values a token, over the device's link where nothing is placed") {
  PipelineModel pipeline(llama(), device(), {}, parallel(1, 2));
  const StepShape shape = decode(100, 1000);
  CHECK(pipeline.handoff_bytes(shape) == Bytes{100 * 2 * 4096 * 2});
  const double share = device().efficiency.link;
  CHECK(seconds(pipeline.handoff_time(0, shape)) == close_to(4e-6 + 1638400 / (450e9 * share), kRounded));
  PipelineModel one_stream(llama(), device(), {}, parallel(1, 2), {}, std::nullopt, 1);
  CHECK(one_stream.handoff_bytes(shape) == Bytes{100 * 4096 * 2});
}

TEST_CASE("over PCIe the ranks that gather what is handed on share the link as in an all-reduce, the senders do not") {
  std::string sheet = kSampleDevice;
  sheet.replace(sheet.find("nvlink"), 6, "pcie");
  const DeviceSheet pcie = parse_device(sheet, "x.yaml");
  const double whole = 4000.0 * 2 * 4096 * 2;
  const double rate = 450e9 * pcie.efficiency.link;
  const auto handoff = [&](std::int64_t tensor) {
    return seconds(PipelineModel(llama(), pcie, {}, parallel(tensor, 2)).handoff_time(0, decode(4000, 100)));
  };
  CHECK(handoff(1) == close_to(4e-6 + whole / rate, kRounded));
  CHECK(handoff(2) == close_to(2 * (4e-6 + whole / 2 / rate), kRounded));
  // Four: 0.12 of 0.60 of the bandwidth and 13 of 5.3 us, as roofline.cpp states.
  CHECK(handoff(4) ==
        close_to(4e-6 + whole / 4 / rate + 4e-6 * 13 / 5.3 + whole * 3 / 4 / (rate * 0.12 / 0.60), kRounded));
}

TEST_CASE("a placed pipeline sends over the ways between its GPUs") {
  const Topology topology = parse_topology(kSampleTopology, "small.yaml");
  Routes routes(topology);
  const auto handoff = [&](std::int64_t tensor, PlacedReplica replica) {
    PipelineModel pipeline(llama(), device(), {}, parallel(tensor, 2), {}, Placed{&routes, std::move(replica)});
    return seconds(pipeline.handoff_time(0, decode(4000, 100)));
  };
  const double bytes = 4000.0 * 2 * 4096 * 2;
  CHECK(handoff(1, {{{0}, {1}}}) == close_to(8.4e-6 + 3.4e-6 + bytes / 100e9, 1e-6));
  // 14 us of way, and NCCL's 14 us of a step over a network, are the same here.
  CHECK(handoff(1, {{{0}, {4}}}) == close_to(8.4e-6 + 14e-6 + bytes / 5e9, 1e-6));
  // Each of two ranks sends half through its own card; the receivers exchange the halves over NVLink.
  const Collectives receivers(routes, {4, 6});
  CHECK(handoff(2, {{{0, 2}, {4, 6}}}) ==
        close_to(8.4e-6 + 14e-6 + bytes / 10e9 + receivers.all_gather(bytes).seconds, 1e-6));
}

TEST_CASE("a topology replaces the sheet's all-reduce, and only that") {
  const Topology topology = parse_topology(kSampleTopology, "small.yaml");
  Routes routes(topology);
  const StepShape shape = decode(64, 1000);
  PipelineModel inside(llama(), device(), {}, parallel(2), {}, Placed{&routes, {{{0, 1}}}});
  PipelineModel across(llama(), device(), {}, parallel(2), {}, Placed{&routes, {{{0, 4}}}});
  const double message = 64.0 * 4096 * 2;
  const double logits = 64.0 * 128256 * 2;
  const Collectives near(routes, {0, 1}, CustomAllReduce::of(device())), far(routes, {0, 4});
  const auto links = [&](const Collectives& group) {
    return 65 * group.all_reduce(message).seconds + group.all_gather(logits).seconds;
  };
  CHECK(seconds(across.stage_cost(0, shape).device - inside.stage_cost(0, shape).device) ==
        close_to(links(far) - links(near), 1e-5));
}

TEST_CASE("tensor ranks that exceed a host need a topology that joins them") {
  CHECK_THROWS_WITH_AS(PipelineModel(llama(), device(), {}, parallel(16)),
                       "tensor_parallel: 16 ranks exceed the 8 devices of a h100-test host", InputError);
  const Topology four = parse_topology(kSampleTopology, "small.yaml", 4);
  Routes routes(four);
  PlacedReplica placed = placement(four, parallel(16), 1)[0];
  CHECK_NOTHROW(PipelineModel(llama(), device(), {}, parallel(16), {}, Placed{&routes, std::move(placed)}));
}

TEST_CASE("copies of the attention dispatch their tokens to the experts and take the sums back") {
  const ModelShape model = deepseek();
  const Sharding sharding{1, 8, true};
  const StepWork work(model, published_dtypes(model), sharding);
  std::vector<Operator> list;
  work.append_token_operators(1000, list);
  const auto named = [&](std::string_view name) {
    return *std::find_if(list.begin(), list.end(), [&](const Operator& op) { return op.name == name; });
  };
  // 8 of 256 experts a token: a rank with 32 of them gets 1 - C(224, 8)/C(256, 8) = 0.66183 of all 8,000 tokens, and
  // the fullest somewhat more.
  const double imbalance = expected_imbalance(8000.0 * 8, 8);
  CHECK(share_of_tokens(*work.shard().feed_forwards.back().experts) == close_to(0.66183, 1e-5));
  const Operator dispatch = named("dispatch");
  CHECK(dispatch.times == 58);
  CHECK(dispatch.collective == Collective::kAllToAll);
  CHECK(dispatch.message_bytes == close_to(8000 * 0.66183 * imbalance * 7168 * 2, 1e-5));
  CHECK(dispatch.work.link_bytes == close_to(dispatch.message_bytes * 7 / 8, 1e-12));
  CHECK(named("combine").message_bytes == dispatch.message_bytes);
  // Each rank computes its eighth of all copies' assignments.
  CHECK(named("experts").work.flops == close_to(2 * 1000.0 * 8 * imbalance * 3 * 7168 * 2048, 1e-12));
  CHECK(imbalance == close_to(1.02133, 1e-5));
  // Spread over tensor ranks, which all hold the tokens, nothing is dispatched: their all-reduce sums up.
  list.clear();
  StepWork(model, published_dtypes(model), Sharding{8, 1, true}).append_token_operators(1000, list);
  CHECK(std::none_of(list.begin(), list.end(), [](const Operator& op) { return op.name == "dispatch"; }));
}

// sqrt(2 (1 - 1/R) ln R) bounds the expected largest deviation of R even shares from above. That of standard normal
// variables is 1.4236 for 8 and 2.3437 for 64, so the bound is 1.34 and 1.22 times the expectation; too few assignments
// for a normal law have a longer tail.
TEST_CASE("the fullest rank gets what random routing gives beyond the mean, or up to two fifths more of it") {
  std::mt19937_64 random(5);
  for (const auto& [assignments, ranks] : {std::pair{64, 8}, {1000, 8}, {1000, 64}, {100'000, 32}, {8, 64}}) {
    CAPTURE(assignments);
    CAPTURE(ranks);
    double mean_of_largest = 0;
    const int rounds = 2000'000 / (assignments + 1000);
    for (int round = 0; round < rounds; ++round) {
      std::vector<int> got(static_cast<std::size_t>(ranks));
      for (int i = 0; i < assignments; ++i) ++got[random() % got.size()];
      mean_of_largest += *std::max_element(got.begin(), got.end());
    }
    mean_of_largest /= rounds;
    const double measured = mean_of_largest * ranks / assignments;
    const double of_measured = (expected_imbalance(assignments, ranks) - 1) / (measured - 1);
    CHECK(of_measured > (assignments < ranks ? 0.75 : 1.0));
    CHECK(of_measured < 1.4);
  }
  CHECK(expected_imbalance(1, 64) == 64);  // one token's one expert is on one rank
  CHECK(expected_imbalance(0, 64) == 1);
  CHECK(expected_imbalance(100, 1) == 1);
}
