#include "costmodel/memory.hpp"

#include <doctest/doctest.h>
#include <string>

#include "costmodel/model_config.hpp"
#include "sim/error.hpp"
#include "tests/unit/costmodel/sample_models.hpp"

using namespace servecast;

namespace {

ModelShape llama() { return parse_model(kLlama31Config, "llama-3.1-8b"); }

ModelShape sample(const std::string& name) {
  for (const SampleModel& model : sample_models()) {
    if (model.name == name) return parse_model(model.config, name);
  }
  throw std::logic_error("no sample model " + name);
}

MemoryBudget budget_of(std::int64_t capacity) {
  MemoryBudget budget;
  budget.capacity = Bytes{capacity};
  return budget;
}

}  // namespace

TEST_CASE("elements are packed without losing half bytes") {
  CHECK(packed_bytes(3, DType::kInt4) == Bytes{2});
  CHECK(packed_bytes(4, DType::kInt4) == Bytes{2});
  CHECK(packed_bytes(32, DType::kMxfp4) == Bytes{17});
  CHECK(packed_bytes(32, DType::kKivi2) == Bytes{12});
  CHECK(packed_bytes(std::int64_t{1} << 56, DType::kFp32) == Bytes{std::int64_t{1} << 58});
  CHECK(parse_dtype("bfloat16") == DType::kBf16);
  CHECK_THROWS_WITH_AS((void)parse_dtype("fp9", {"x.yaml", 3, "kv_dtype"}),
                       "x.yaml:3: kv_dtype: unknown number format 'fp9'; did you mean 'fp8'?", InputError);
}

TEST_CASE("KV bytes per token are those of the models' caches") {
  const auto bytes = [](const ModelShape& model) { return kv_bytes(model, DType::kFp16, Tokens{1}).count(); };
  CHECK(bytes(llama()) == 131'072);
  CHECK(bytes(sample("qwen2.5-7b")) == 57'344);
  CHECK(bytes(sample("qwen3-0.6b")) == 114'688);
  CHECK(bytes(sample("mixtral-8x7b")) == 131'072);
  CHECK(bytes(sample("opt-125m")) == 36'864);
  CHECK(bytes(parse_model(kDeepSeekV3Config, "v3")) == 70'272);  // 61 layers of 512 + 64 elements
}

TEST_CASE("KV formats change the capacity by the ratio of their bits") {
  const ModelShape model = llama();
  const auto bits = [&](DType type) { return kv_bits_per_token(model, type); };
  CHECK(bits(DType::kFp16) == 2 * bits(DType::kFp8));
  CHECK(bits(DType::kFp16) == 4 * bits(DType::kInt4));
  CHECK(3 * bits(DType::kFp16) == 16 * bits(DType::kKivi2));
  CHECK_THROWS_AS((void)bits(DType::kMxfp4), InputError);
}

TEST_CASE("an odd number of 4-bit elements keeps its half byte") {
  const ModelShape odd = parse_model(
      R"({"model_type": "llama", "hidden_size": 8, "intermediate_size": 8, "num_attention_heads": 1,
          "num_hidden_layers": 1, "num_key_value_heads": 1, "head_dim": 3, "vocab_size": 8})",
      "odd");
  CHECK(kv_bits_per_token(odd, DType::kInt4) == 24);
  CHECK(kv_bits_per_token(odd, DType::kKivi2) == 18);
  CHECK(kv_bytes(odd, DType::kKivi2, Tokens{4}) == Bytes{9});
  CHECK(kv_bytes(odd, DType::kKivi2, Tokens{1}) == Bytes{3});
}

TEST_CASE("layers with a window keep their window only, where the engine can") {
  const ModelShape model = parse_model(kGptOss20bConfig, "gpt-oss-20b");
  const Bytes one = kv_bytes(model, DType::kBf16, Tokens{1});
  CHECK(one == Bytes{24 * 2 * 8 * 64 * 2});
  CHECK(kv_bytes_windowed(model, DType::kBf16, Tokens{100}) == one * 100);
  CHECK(kv_bytes_windowed(model, DType::kBf16, Tokens{1128}) == Bytes{one.count() / 2 * (1128 + 128)});
}

TEST_CASE("weights of Llama-3.1-8B take 16.06 GB, of DeepSeek-V3 with its module 1275 GiB in bf16") {
  CHECK(weight_bytes(llama(), {}) == Bytes{16'060'522'496});
  const Bytes bytes = weight_bytes(parse_model(kDeepSeekV3Config, "v3"), {}, {.mtp_modules = true});
  CHECK(static_cast<double>(bytes.count()) / 0x1p30 == doctest::Approx(1275.0).epsilon(4e-5));
}

TEST_CASE("quantised weights leave embedding, head and norms in the activations' format") {
  Dtypes dtypes;
  dtypes.weights = DType::kInt4;
  const std::int64_t rest = 2 * 128'256 * 4096 + 65 * 4096;
  CHECK(weight_bytes(llama(), dtypes) == Bytes{(8'030'261'248 - rest) / 2 + 2 * rest});
  const Dtypes published = published_dtypes(parse_model(kGptOss20bConfig, "gpt-oss-20b"));
  CHECK(published.experts == DType::kMxfp4);
  CHECK(published.weights == DType::kBf16);
  CHECK(published.kv == DType::kBf16);
}

TEST_CASE("an 80 GB card holds 104, 13 and 3 sequences of Llama-3.1-8B") {
  const MemoryPlan plan = plan_memory(llama(), {}, budget_of(80'000'000'000));
  CHECK(plan.kv == Bytes{55'939'477'504});
  CHECK(plan.sequences_at(Tokens{4096}) == doctest::Approx(104.195).epsilon(1e-5));
  CHECK(plan.sequences_at(Tokens{32'768}) == doctest::Approx(13.024).epsilon(1e-4));
  CHECK(plan.sequences_at(Tokens{131'072}) == doctest::Approx(3.256).epsilon(1e-4));
  CHECK(plan.usable == plan.weights + plan.activations + plan.reserve + plan.kv);
}

TEST_CASE("the engine's answer counts whole blocks, a watermark and the first decoded token") {
  const MemoryPlan plan = plan_memory(llama(), {}, budget_of(80'000'000'000));
  CHECK(plan.blocks == Blocks{26'674});
  CHECK(plan.paged_sequences_at(Tokens{4095}, Blocks{266}) == 103);
  CHECK(plan.paged_sequences_at(Tokens{32'767}, Blocks{266}) == 12);
  CHECK(plan.paged_sequences_at(Tokens{4096}) == 26'674 / 257);
  CHECK(plan.slots() == Tokens{55'939'477'504 / 131'072});
}

TEST_CASE("activations and reserve come out of the KV cache") {
  MemoryBudget budget = budget_of(80'000'000'000);
  const Bytes all = plan_memory(llama(), {}, budget).kv;
  budget.batched_tokens = Tokens{2048};
  budget.sampled_rows = 256;
  budget.reserve = Bytes{1'000'000'000};
  const MemoryPlan plan = plan_memory(llama(), {}, budget);
  // 2048 tokens of two streams of 4096 and 3 · 14336 elements, 256 rows of two fp32 vocabularies
  CHECK(plan.activations == Bytes{2048 * (2 * 4096 + 3 * 14'336) * 2 + 256 * 2 * 128'256 * 4});
  CHECK(plan.kv + plan.activations + plan.reserve == all);
}

TEST_CASE("a model that does not fit is refused, and the message says by how much") {
  try {
    (void)plan_memory(llama(), {}, budget_of(16'000'000'000));
    FAIL("accepted");
  } catch (const InputError& error) {
    const std::string message = error.what();
    CAPTURE(message);
    // 16.0605 + one block of 2.097 MB - 14.4 GB
    CHECK(message.find("1.663 GB (1.548 GiB) are missing") != std::string::npos);
    CHECK(message.find("llama-3.1-8b does not fit") != std::string::npos);
  }
}

TEST_CASE("a known block count is used when it fits and refused when it does not") {
  MemoryBudget budget = budget_of(80'000'000'000);
  budget.blocks = Blocks{20'000};
  CHECK(plan_memory(llama(), {}, budget).blocks == Blocks{20'000});
  budget.blocks = Blocks{30'000};
  CHECK_THROWS_AS((void)plan_memory(llama(), {}, budget), InputError);
}

TEST_CASE("odd budgets are refused") {
  MemoryBudget budget = budget_of(80'000'000'000);
  budget.utilisation = 1.5;
  CHECK_THROWS_AS((void)plan_memory(llama(), {}, budget), InputError);
  budget.utilisation = 0.9;
  budget.block_size = Tokens{0};
  CHECK_THROWS_AS((void)plan_memory(llama(), {}, budget), InputError);
}

TEST_CASE("tensor-parallel ranks share weights and cache") {
  const ModelShape model = llama();
  const ModelShape rank = shard(model, 4);
  CHECK(kv_bits_per_token(rank, DType::kBf16) * 4 == kv_bits_per_token(model, DType::kBf16));
  const std::int64_t norms = 65 * 4096 * 2;
  CHECK(4 * (weight_bytes(rank, {}).count() - norms) == weight_bytes(model, {}).count() - norms);
  // The latent cache of DeepSeek-V3 cannot be divided: every rank holds all of it.
  const ModelShape deepseek = parse_model(kDeepSeekV3Config, "v3");
  CHECK(kv_bits_per_token(shard(deepseek, 8), DType::kBf16) == kv_bits_per_token(deepseek, DType::kBf16));
}
