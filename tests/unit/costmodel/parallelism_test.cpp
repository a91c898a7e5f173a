#include "costmodel/parallelism.hpp"

#include <doctest/doctest.h>
#include <numeric>
#include <set>
#include <string>

#include "costmodel/model_config.hpp"
#include "costmodel/work.hpp"
#include "sim/error.hpp"
#include "tests/unit/costmodel/sample_models.hpp"
#include "tests/unit/costmodel/sample_topology.hpp"

using namespace servecast;

namespace {

using Layers = std::vector<std::int64_t>;
using Stages = std::vector<std::vector<GpuIndex>>;

ModelShape llama() { return parse_model(kLlama31Config, "llama-3.1-8b"); }
ModelShape deepseek() { return parse_model(kDeepSeekV3Config, "deepseek-v3"); }

ModelShape with_layers(std::int64_t layers) {
  ModelShape model = llama();
  model.layers.resize(static_cast<std::size_t>(layers));
  return model;
}

Topology hosts(std::int64_t count) { return parse_topology(kSampleTopology, "small.yaml", count); }

// tensor ranks, stages
Parallelism parallel(std::int64_t tensor, std::int64_t pipeline = 1) { return {Sharding{tensor}, pipeline, {}}; }

template <class Function>
std::string message_of(const Function& function) {
  try {
    function();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("layers are spread evenly, and the last stage has fewest where they do not divide") {
  CHECK(layers_by_stage(llama(), parallel(1)) == Layers{32});
  CHECK(layers_by_stage(llama(), parallel(1, 4)) == Layers{8, 8, 8, 8});
  CHECK(layers_by_stage(with_layers(30), parallel(1, 4)) == Layers{7, 8, 8, 7});
  CHECK(layers_by_stage(with_layers(31), parallel(1, 4)) == Layers{8, 8, 8, 7});
  CHECK(layers_by_stage(llama(), {Sharding{}, 2, {10, 22}}) == Layers{10, 22});
}

TEST_CASE("stages that cannot be are refused by name") {
  const auto layers = [](const Parallelism& parallelism) {
    return message_of([&] { (void)layers_by_stage(llama(), parallelism); });
  };
  CHECK(layers(parallel(1, 33)) == "pipeline_parallel: 33 stages exceed the 32 layers of llama-3.1-8b");
  CHECK(layers(parallel(1, 0)) == "pipeline_parallel: must be at least 1");
  CHECK(layers({Sharding{}, 2, {32}}) == "stage_layers: names 1 stages of 2");
  CHECK(layers({Sharding{}, 2, {10, 10}}) == "stage_layers: adds up to 20, llama-3.1-8b has 32 layers");
  CHECK(layers({Sharding{}, 2, {32, 0}}) == "stage_layers: every stage needs a layer");
}

TEST_CASE("the stages of a pipeline hold the whole model once") {
  for (const ModelShape& model : {llama(), deepseek(), parse_model(kGptOss20bConfig, "gpt-oss-20b")}) {
    CAPTURE(model.name);
    for (const std::int64_t count : {1, 2, 3, 7}) {
      std::int64_t parameters = 0, mtp = 0, kv = 0;
      for (const ModelShape& stage : pipeline_stages(model, parallel(1, count))) {
        const ParameterCounts counts = count_parameters(stage);
        parameters += counts.total;
        mtp += counts.mtp;
        kv += kv_bits_per_token(stage, DType::kBf16);
      }
      CHECK(parameters == count_parameters(model).total);
      CHECK(mtp == count_parameters(model).mtp);
      CHECK(kv == kv_bits_per_token(model, DType::kBf16));
    }
  }
}

TEST_CASE("a tied head away from the embedding is a copy of it") {
  ModelShape model = llama();
  model.tied = true;
  std::int64_t parameters = 0;
  for (const ModelShape& stage : pipeline_stages(model, parallel(1, 2))) parameters += count_parameters(stage).total;
  CHECK(parameters == count_parameters(model).total + model.vocab * model.hidden);
}

TEST_CASE("experts are spread whole over all ranks, and the router stays whole") {
  const ModelShape model = deepseek();
  const ModelShape rank = shard(model, Sharding{1, 32, true});
  const FeedForward& part = rank.feed_forwards.back();
  CHECK(part.experts->count == 8);
  CHECK(part.experts->all() == 256);
  CHECK(part.experts->width == model.feed_forwards.back().experts->width);
  CHECK(router_matrix(rank, part) == router_matrix(model, model.feed_forwards.back()));
  // Attention is whole on every copy; 32 ranks hold every expert once.
  CHECK(rank.attentions[0] == model.attentions[0]);
  const std::int64_t experts = 58 * 256 * expert_matrices(model, model.feed_forwards.back());
  CHECK(count_parameters(rank).total == count_parameters(model).total - experts + experts / 32);
}

TEST_CASE("divisions that no engine makes are refused by name") {
  const auto division = [](const ModelShape& model, const Sharding& sharding) {
    return message_of([&] { (void)shard(model, sharding); });
  };
  CHECK(division(llama(), Sharding{16}) == "no error");  // 8 key-value heads, each on two ranks
  CHECK(division(llama(), Sharding{5}) == "tensor_parallel: 5 ranks do not divide the 32 query heads of llama-3.1-8b");
  CHECK(division(llama(), Sharding{1, 2, false}) ==
        "data_parallel: without expert_parallel, copies share nothing: they are replicas");
  CHECK(division(llama(), Sharding{1, 2, true}) == "expert_parallel: llama-3.1-8b has no experts");
  CHECK(division(deepseek(), Sharding{1, 3, true}) ==
        "expert_parallel: 3 ranks do not divide the 256 experts of deepseek-v3");
}

TEST_CASE("the stage with the fewest blocks decides how many a pipeline has") {
  MemoryBudget budget;
  budget.capacity = Bytes{24'000'000'000};
  budget.batched_tokens = Tokens{2048};
  budget.sampled_rows = 128;
  const PipelineMemory memory = plan_pipeline_memory(llama(), {Sharding{}, 2, {8, 24}}, {}, budget);
  REQUIRE(memory.stages.size() == 2);
  CHECK(memory.fullest == 1);
  CHECK(memory.blocks == memory.stages[1].blocks);
  CHECK(memory.stages[1].blocks < memory.stages[0].blocks);
  CHECK(memory.stages[0].kv_bits_per_token * 3 == memory.stages[1].kv_bits_per_token);
  // One stage is what a plan without pipeline says.
  CHECK(plan_pipeline_memory(llama(), parallel(1), {}, budget).blocks == plan_memory(llama(), {}, budget).blocks);
  // Half a model fits where the whole does not.
  budget.capacity = Bytes{12'000'000'000};
  CHECK_THROWS_AS((void)plan_pipeline_memory(llama(), parallel(1), {}, budget), InputError);
  CHECK(plan_pipeline_memory(llama(), parallel(1, 2), {}, budget).blocks > Blocks{0});
}

TEST_CASE("replicas are placed in one host where they fit, stages in one host where the replica does not") {
  const Topology two = hosts(2);
  const auto placed = placement(two, parallel(2), 4);
  CHECK(placed[1].stages == Stages{{2, 3}});
  CHECK(placed[2].stages == Stages{{4, 5}});
  CHECK(placement(two, parallel(2, 2), 1)[0].stages == Stages{{0, 1}, {2, 3}});
  CHECK(placement(two, parallel(4, 2), 1)[0].stages == Stages{{0, 1, 2, 3}, {4, 5, 6, 7}});
  CHECK(placement(two, parallel(8), 1)[0].stages == Stages{{0, 1, 2, 3, 4, 5, 6, 7}});
  // Three GPUs left in no host: two replicas of three leave one in each.
  CHECK(placement(two, parallel(3), 2)[1].stages == Stages{{4, 5, 6}});
  // Copies of the attention find each a place for their tensor ranks.
  CHECK(placement(two, {Sharding{2, 4, true}, 1, {}}, 1)[0].stages == Stages{{0, 1, 2, 3, 4, 5, 6, 7}});
}

TEST_CASE("placements that do not fit are refused by name, and give out nothing") {
  const Topology two = hosts(2);
  const auto place = [&](const Parallelism& parallelism, std::int64_t replicas) {
    return message_of([&] { (void)placement(two, parallelism, replicas); });
  };
  CHECK(place(parallel(4), 3) == "replicas: 3 replicas of 4 GPUs exceed the 8 GPUs of small");
  CHECK(place(parallel(3), 3) == "replicas: 3 replicas of 3 GPUs exceed the 8 GPUs of small");
  CHECK(place(parallel(16), 1) == "replicas: 1 replicas of 16 GPUs exceed the 8 GPUs of small");
  CHECK(place(parallel(6), 1) ==
        "tensor_parallel: 6 ranks exceed the 4 GPUs of a host, and no free hosts add up to them");
  CHECK(place(parallel(1), 0) == "replicas: must be at least 1");

  Placer placer(two);
  const PlacedReplica first = placer.place(parallel(3));
  (void)placer.place(parallel(3));
  CHECK(message_of([&] { (void)placer.place(parallel(2)); }) == "tensor_parallel: no host of small has 2 GPUs left");
  CHECK(message_of([&] { (void)placer.place(parallel(4)); }) == "topology: small has 2 GPUs left, a replica needs 4");
  CHECK(message_of([&] { (void)placer.place(parallel(1), "t4"); }) ==
        "topology: small has 0 GPUs of device t4 left, a replica needs 1");
  CHECK(placer.free_count() == 2);
  placer.release(first);
  CHECK(placer.free_count("h100-test") == 5);
  CHECK(placer.place(parallel(4)).stages == Stages{{0, 1, 2, 3}});
}

TEST_CASE("no GPU is given out twice") {
  const Topology four = hosts(4);
  for (const Parallelism& parallelism : {parallel(1), parallel(2), parallel(2, 2), parallel(1, 4), parallel(4, 2)}) {
    std::set<GpuIndex> given;
    for (const PlacedReplica& replica : placement(four, parallelism, 16 / parallelism.ranks())) {
      REQUIRE(std::ssize(replica.stages) == parallelism.pipeline);
      for (const auto& stage : replica.stages) {
        REQUIRE(std::ssize(stage) == parallelism.sharding.ranks());
        for (const GpuIndex gpu : stage) CHECK(given.insert(gpu).second);
      }
    }
    CHECK(given.size() == 16);
  }
}
