#include "app/run/deployment.hpp"

#include <cmath>
#include <doctest/doctest.h>
#include <string>

#include "app/run/data_files.hpp"
#include "sim/error.hpp"

namespace servecast {
namespace {

Experiment experiment(const std::string& model, const std::string& device, SchedulerOptions policy = VllmV0Options{}) {
  Experiment e;
  e.model = model;
  e.device = device;
  e.deployment.policy = policy;
  return e;
}

std::string message_of(const Experiment& e) {
  try {
    static_cast<void>(plan_deployment(e));
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("the memory of one device is weights, activations, reserve and KV cache, and nothing else") {
  const Deployment d = plan_deployment(experiment("llama-3.1-8b", "h100-sxm"));
  const MemoryPlan& memory = tightest(d);
  CHECK(memory.weights == Bytes{2 * 8'030'261'248});  // 8,030,261,248 parameters in bf16
  CHECK(memory.usable == memory.weights + memory.activations + memory.reserve + memory.kv);
  CHECK(memory.block_bytes == Bytes{16 * 131'072});  // 2 · 8 heads · 128 · 2 bytes · 32 layers a token
  CHECK(d.replica.usable_blocks.count() == memory.kv.count() / (16 * 131'072));
  CHECK(d.replica.max_model_len == Tokens{131'072});
}

TEST_CASE("what a scheduler may use of the cache is its own rule") {
  const auto blocks = [](const SchedulerOptions& policy) {
    Experiment e = experiment("llama-3.1-8b", "h100-sxm", policy);
    e.deployment.kv_blocks = Blocks{1000};
    return plan_deployment(e).replica;
  };
  CHECK(blocks(VllmV0Options{}).usable_blocks == Blocks{1000});
  CHECK(blocks(VllmV1Options{}).usable_blocks == Blocks{999});
  CHECK(blocks(SglangOptions{}).usable_blocks == Blocks{16'000});
  CHECK(blocks(SglangOptions{}).block_size == Tokens{1});
  CHECK_FALSE(blocks(OrcaOptions{}).grows);
  CHECK(blocks(StaticOptions{}).hold_until_batch_end);
}

TEST_CASE("KV bytes of a replica are those of all its devices") {
  Experiment e = experiment("llama-3.1-8b", "h100-sxm");
  e.deployment.tensor_parallel = 2;
  const Deployment d = plan_deployment(e);
  CHECK(kv_bytes_of(d, 10) == doctest::Approx(10 * 16 * 131'072.0));
  Experiment slots = experiment("llama-3.1-8b", "h100-sxm", OrcaOptions{});
  CHECK(kv_bytes_of(plan_deployment(slots), 10) == doctest::Approx(10 * 131'072.0));
}

// Of 32 layers each of three stages has 11, 11 and 10 (vLLM's rule), 16 tokens of 4,096 bytes a layer. The last stage
// has the LM head, the first the embedding (each 128,256 · 4,096 parameters), so the middle one has room to spare.
TEST_CASE("the stage of a pipeline with the least room decides how many blocks there are") {
  Experiment e = experiment("llama-3.1-8b", "h100-sxm");
  e.deployment.pipeline_parallel = 3;
  const Deployment d = plan_deployment(e);
  REQUIRE(d.memory.stages.size() == 3);
  CHECK(d.memory.stages[1].block_bytes == Bytes{16 * 11 * 4'096});
  CHECK(d.memory.stages[2].block_bytes == Bytes{16 * 10 * 4'096});
  CHECK(d.memory.fullest == 0);
  CHECK(d.memory.stages[0].blocks < d.memory.stages[1].blocks);
  CHECK(d.replica.usable_blocks == d.memory.stages[0].blocks);
  CHECK(d.replica.stages == 3);
  CHECK(device_count(d) == 3);
  CHECK(kv_bytes_of(d, 10) == doctest::Approx(10 * 16 * 131'072.0));
  CHECK(describe_memory(d).find("on 3 stages of 1 x h100-sxm") != std::string::npos);
  CHECK(describe_memory(d).find("on each of stage 1, the fullest: weights") != std::string::npos);
}

TEST_CASE("slots of a pipeline are what every stage has room for") {
  Experiment e = experiment("llama-3.1-8b", "h100-sxm", OrcaOptions{});
  e.deployment.pipeline_parallel = 3;
  const Deployment d = plan_deployment(e);
  for (const MemoryPlan& stage : d.memory.stages) CHECK(Tokens{d.replica.usable_blocks.count()} <= stage.slots());
  CHECK(Tokens{d.replica.usable_blocks.count()} == d.memory.stages[0].slots());
}

TEST_CASE("more stages than layers are refused by name") {
  Experiment e = experiment("llama-3.1-8b", "h100-sxm");
  e.deployment.pipeline_parallel = 33;
  CHECK(message_of(e).find("pipeline_parallel: 33 stages exceed the 32 layers") != std::string::npos);
}

TEST_CASE("a model that does not fit is refused before the first event, and by how much") {
  const std::string message = message_of(experiment("llama-3.1-70b", "a100-40g-sxm"));
  CHECK(message.find("llama-3.1-70b does not fit: 141.107 GB") != std::string::npos);
  CHECK(message.find("are missing") != std::string::npos);
}

TEST_CASE("an unknown name is answered with the closest one") {
  CHECK(message_of(experiment("llama-3.1-8", "h100-sxm")) ==
        "model: unknown model 'llama-3.1-8'; did you mean 'llama-3.1-8b', 'llama-3.1-8b-instruct'?");
  CHECK(message_of(experiment("llama-3.1-8b", "h100-smx")) ==
        "device: unknown device 'h100-smx'; did you mean 'h100-sxm'?");
  CHECK(message_of(experiment("no/such.json", "h100-sxm")) == "model: no file 'no/such.json'");
}

TEST_CASE("a device that cannot compute in the model's format is refused") {
  CHECK(message_of(experiment("llama-3.1-8b", "v100-sxm-32")).find("bf16") != std::string::npos);
  Experiment e = experiment("llama-3.1-8b", "v100-sxm-32");
  e.deployment.dtypes.activations = "fp16";
  e.deployment.dtypes.weights = "fp16";
  CHECK(message_of(e).empty());
}

TEST_CASE("lengths beyond the model's are cut, and the results say so") {
  Experiment e = experiment("opt-13b", "a100-40g-sxm", OrcaOptions{.max_len = Tokens{4096}});
  e.deployment.max_model_len = Tokens{10'000};
  const Deployment d = plan_deployment(e);
  CHECK(d.replica.max_model_len == Tokens{2048});
  CHECK(std::get<OrcaOptions>(d.policy).max_len == Tokens{2048});
  REQUIRE(d.notes.size() == 2);
  CHECK(d.notes[0] == "max_model_len 10000 is cut to the model's own 2048");
  CHECK(d.notes[1] == "orca.max_len 4096 is cut to max_model_len 2048");
}

TEST_CASE("every shipped model plans on some device, or is refused for its size alone") {
  for (const std::string& model : data_names(DataKind::kModel)) {
    CAPTURE(model);
    const std::string message = message_of(experiment(model, "b200"));
    const bool fits_or_too_large = message.empty() || message.find("does not fit") != std::string::npos;
    CHECK_MESSAGE(fits_or_too_large, message);
  }
}

}  // namespace servecast
