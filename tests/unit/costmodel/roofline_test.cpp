#include "costmodel/roofline.hpp"

#include <cmath>
#include <doctest/doctest.h>
#include <filesystem>
#include <string>
#include <vector>

#include "costmodel/model_config.hpp"
#include "costmodel/simple.hpp"
#include "sim/error.hpp"
#include "tests/unit/costmodel/sample_device.hpp"
#include "tests/unit/costmodel/sample_models.hpp"
#include "tests/unit/costmodel/shapes.hpp"

using namespace servecast;

namespace {

DeviceSheet device() { return parse_device(kSampleDevice, "x.yaml"); }
ModelShape llama() { return parse_model(kLlama31Config, "llama-3.1-8b"); }

std::vector<ModelShape> kinds_of_models() {
  return {llama(), parse_model(kDeepSeekV3Config, "v3"), parse_model(kGptOss20bConfig, "gpt-oss-20b"),
          parse_model(sample_models()[5].config, "gemma-2-9b")};
}

StepShape decode(std::int64_t sequences, std::int64_t context) {
  return {
      {}, sequences, Tokens{sequences * context}, Tokens{sequences * std::min<std::int64_t>(context, 128)}, sequences};
}

}  // namespace

TEST_CASE("remembered costs equal the plain sum over the operators") {
  std::mt19937_64 random(1);
  for (const ModelShape& model : kinds_of_models()) {
    for (const std::int64_t ranks : {1, 4}) {
      CAPTURE(model.name);
      RooflineModel cost(model, device(), published_dtypes(model), ranks, {Duration{1000}, Duration{10}});
      OwnedShape owned;
      for (int i = 0; i < 500; ++i) {
        fill_random(random, model, owned);
        const StepCost expected = cost.cost_by_operator(owned.shape);
        REQUIRE(cost.cost(owned.shape).device == expected.device);
        REQUIRE(cost.cost(owned.shape).device == expected.device);  // the second time from memory
        REQUIRE(cost.cost(owned.shape).host == expected.host);
      }
    }
  }
}

TEST_CASE("no step is faster than peaks allow") {
  std::mt19937_64 random(2);
  for (const ModelShape& model : kinds_of_models()) {
    CAPTURE(model.name);
    RooflineModel cost(model, device(), published_dtypes(model));
    OwnedShape owned;
    for (int i = 0; i < 500; ++i) {
      fill_random(random, model, owned);
      const double bound = cost.bound(owned.shape).seconds();
      REQUIRE(seconds(cost.cost(owned.shape).device) + 1e-9 >= bound);
    }
  }
}

TEST_CASE("more tokens, longer context, more sequences never cost less") {
  std::mt19937_64 random(3);
  for (const ModelShape& model : kinds_of_models()) {
    CAPTURE(model.name);
    RooflineModel cost(model, device(), published_dtypes(model));
    OwnedShape owned;
    for (int i = 0; i < 500; ++i) {
      fill_random(random, model, owned);
      const Duration before = cost.cost(owned.shape).device;
      StepShape longer = owned.shape;
      if (longer.decode_sequences > 0) {
        longer.decode_context += Tokens{1 + static_cast<std::int64_t>(random() % 1000)};
        REQUIRE(cost.cost(longer).device >= before);
      }
      StepShape wider = owned.shape;
      wider.decode_sequences += 1;
      wider.decode_context += Tokens{1};
      wider.decode_window_context += Tokens{1};
      wider.sampled_rows += 1;
      REQUIRE(cost.cost(wider).device >= before);
      if (!owned.prefills.empty()) {
        owned.prefills[0].tokens += Tokens{1};
        REQUIRE(cost.cost(owned.shape).device >= before);
        const Duration between = cost.cost(owned.shape).device;
        owned.prefills[0].context += Tokens{100};
        REQUIRE(cost.cost(owned.shape).device >= between);
      }
    }
  }
}

TEST_CASE("token counts cost monotonically across the whole range") {
  RooflineModel cost(parse_model(kGptOss20bConfig, "gpt-oss-20b"), device(), {});
  Duration before{0};
  for (std::int64_t tokens = 1; tokens < 300'000; tokens += 1 + tokens / 50) {  // also past what is remembered
    const PrefillChunk chunk{Tokens{tokens}, Tokens{0}};
    const StepShape shape{{&chunk, 1}, 0, {}, {}, 0};
    const Duration now = cost.cost(shape).device;
    REQUIRE(now >= before);
    REQUIRE(now == cost.cost_by_operator(shape).device);
    before = now;
  }
}

TEST_CASE("the bound of a decode step is weights and cache over bandwidth") {
  const RooflineModel cost(llama(), device(), {});
  const RooflineBound bound = cost.bound(decode(16, 1024));
  // All weights but the embedding table, of which 16 rows are read; 16 · 1024 tokens of 128 KiB.
  const double bytes = 16'060'522'496 - 2.0 * 4096 * (128'256 - 16) + 16.0 * 1024 * 131'072;
  CHECK(bound.memory_s == doctest::Approx(bytes / 3.35e12).epsilon(1e-12));
  CHECK(bound.seconds() == bound.memory_s);
}

TEST_CASE("a decode step of Llama-3.1-8B on an H100 takes between its bound and twice that") {
  RooflineModel cost(llama(), device(), {});
  const double bound = cost.bound(decode(1, 1024)).seconds();
  const double predicted = seconds(cost.cost(decode(1, 1024)).device);
  CHECK(predicted > 1.15 * bound);
  CHECK(predicted < 2 * bound);
}

TEST_CASE("eight-bit weights compute at the device's rate, others at the activations'") {
  Dtypes dtypes;
  dtypes.weights = DType::kFp8;
  const RooflineModel fp8(llama(), device(), dtypes);
  CHECK(fp8.compute_type(DType::kFp8) == DType::kFp8);
  CHECK(fp8.compute_type(DType::kInt8) == DType::kBf16);  // the sheet has no int8 rate: only stored so
  CHECK(fp8.compute_type(DType::kInt4) == DType::kBf16);
}

TEST_CASE("weights of fewer bits speed up decoding by less than the ratio of their bytes") {
  Dtypes four;
  four.weights = DType::kInt4;
  RooflineModel full(llama(), device(), {});
  RooflineModel quantised(llama(), device(), four);
  const double gain = seconds(full.cost(decode(1, 1024)).device) / seconds(quantised.cost(decode(1, 1024)).device);
  CHECK(gain > 1.5);
  CHECK(gain < 4);
}

TEST_CASE("tensor parallelism shortens a step, but less than by the number of ranks") {
  RooflineModel one(llama(), device(), {});
  RooflineModel four(llama(), device(), {}, 4);
  const double ratio = seconds(one.cost(decode(64, 2048)).device) / seconds(four.cost(decode(64, 2048)).device);
  CHECK(ratio > 1.5);
  CHECK(ratio < 4);
}

TEST_CASE("host time is counted per step and per sequence, apart from the device's") {
  RooflineModel cost(llama(), device(), {}, 1, {Duration{4'000'000}, Duration{125'000}});
  CHECK(cost.cost({}).host == Duration{4'000'000});
  CHECK(cost.cost({}).device == Duration{1});
  const PrefillChunk chunk{Tokens{100}, Tokens{0}};
  StepShape shape = decode(7, 10);
  shape.prefills = {&chunk, 1};
  CHECK(cost.cost(shape).host == Duration{5'000'000});
}

TEST_CASE("ranks beyond a host and types a device lacks are refused") {
  CHECK_THROWS_WITH_AS(RooflineModel(llama(), device(), {}, 16),
                       "tensor_parallel: 16 ranks exceed the 8 devices of a h100-test host", InputError);
  Dtypes dtypes;
  dtypes.activations = DType::kFp16;
  CHECK_THROWS_AS(RooflineModel(llama(), device(), dtypes), InputError);
}

TEST_CASE("every shipped model costs at least its bound on every shipped device") {
  std::vector<DeviceSheet> devices;
  for (const auto& entry : std::filesystem::directory_iterator(SERVECAST_SOURCE_DIR "/devices")) {
    if (entry.path().extension() == ".yaml") devices.push_back(load_device(entry.path().string()));
  }
  for (const auto& entry : std::filesystem::directory_iterator(SERVECAST_SOURCE_DIR "/models")) {
    if (entry.path().extension() != ".json") continue;
    const ModelShape model = load_model(entry.path().string());
    for (const DeviceSheet& sheet : devices) {
      CAPTURE(model.name);
      CAPTURE(sheet.name);
      RooflineModel cost(model, sheet, runnable_dtypes(model, sheet));
      const double predicted = seconds(cost.cost(decode(16, 1024)).device);
      REQUIRE(predicted + 1e-9 >= cost.bound(decode(16, 1024)).seconds());
    }
  }
}

TEST_CASE("constant and linear models say what their formula says") {
  ConstantStepModel constant(Duration{5}, Duration{2});
  CHECK(constant.cost(decode(3, 4)).device == Duration{5});
  CHECK(constant.cost({}).host == Duration{2});
  LinearStepModel linear({.per_step_s = 1e-3, .per_token_s = 1e-6, .per_sequence_s = 1e-5, .per_key_s = 1e-9});
  CHECK(linear.cost({}).device == Duration{1'000'000});
  CHECK(linear.cost(decode(10, 100)).device == Duration{1'000'000 + 10 * 1000 + 10 * 10'000 + 1000});
  const PrefillChunk chunk{Tokens{4}, Tokens{6}};
  CHECK(linear.cost({{&chunk, 1}, 0, {}, {}, 0}).device == Duration{1'000'000 + 4 * 1000 + 10'000 + 34});
  LinearStepModel nothing({});
  CHECK(nothing.cost({}).device == Duration{1});
}
