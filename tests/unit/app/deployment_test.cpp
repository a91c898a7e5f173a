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
  CHECK(d.memory.weights == Bytes{2 * 8'030'261'248});  // 8,030,261,248 parameters in bf16
  CHECK(d.memory.usable == d.memory.weights + d.memory.activations + d.memory.reserve + d.memory.kv);
  CHECK(d.memory.block_bytes == Bytes{16 * 131'072});  // 2 · 8 heads · 128 · 2 bytes · 32 layers a token
  CHECK(d.replica.usable_blocks.count() == d.memory.kv.count() / (16 * 131'072));
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
