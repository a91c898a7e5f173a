// How much fits.
#include "sim/error.hpp"
#include "tests/figures/figure.hpp"

using namespace servecast;
using namespace servecast::figures;

namespace {

constexpr std::int64_t k80Gb = 80'000'000'000;

std::int64_t sequences(const MemoryPlan& plan, std::int64_t context) {
  return whole(plan.sequences_at(Tokens{context}));
}

}  // namespace

TEST_CASE("S0-11: 256 x 1024 tokens of Qwen2.5-1.5B take 7.516 GB = 7.00 GiB and fit an RTX 2080 Ti, 270 do not") {
  const ModelShape model = shipped_model("qwen2.5-1.5b");
  const Bytes kv = kv_bytes(model, DType::kFp16, Tokens{256 * 1024});
  CHECK(kv == Bytes{7'516'192'768});
  CHECK(printed(gib(kv), 2) == "7.00");
  const Bytes weights = weight_bytes(model, {});
  CHECK(printed(gb(weights + kv), 2) == "10.60");
  CHECK(printed(gb(weights + kv_bytes(model, DType::kFp16, Tokens{270 * 1024})), 2) == "11.01");
  const MemoryPlan plan = plan_of(model, shipped_device("rtx-2080-ti").memory.count(), {}, 1.0);
  CHECK(plan.sequences_at(Tokens{1024}) >= 256);
  CHECK(plan.sequences_at(Tokens{1024}) < 270);
}

TEST_CASE("S0-22: Llama-3.1-8B takes 16.0605 GB, leaves 55.9395 GB of 72, and multiplies 6.97959 B parameters") {
  const ModelShape model = shipped_model("llama-3.1-8b");
  const MemoryPlan plan = plan_of(model, k80Gb);
  CHECK(plan.weights == Bytes{16'060'522'496});
  CHECK(plan.kv == Bytes{55'939'477'504});
  CHECK(printed(gb(plan.weights), 4) == "16.0605");
  CHECK(printed(gb(plan.kv), 4) == "55.9395");
  CHECK(printed(real(count_parameters(model).non_embedding) / 1e9, 5) == "6.97959");
}

TEST_CASE("S0-23: 4096, 32768 and 131072 tokens take 0.54, 4.29 and 17.18 GB, and 104, 13 and 3 sequences fit") {
  const ModelShape model = shipped_model("llama-3.1-8b");
  const auto kv_gb = [&](std::int64_t tokens) { return printed(gb(kv_bytes(model, DType::kBf16, Tokens{tokens})), 2); };
  CHECK(kv_gb(4096) == "0.54");
  CHECK(kv_gb(32'768) == "4.29");
  CHECK(kv_gb(131'072) == "17.18");
  const MemoryPlan plan = plan_of(model, shipped_device("a100-80g-sxm").memory.count());
  CHECK(printed(plan.sequences_at(Tokens{4096}), 3) == "104.195");
  CHECK(printed(plan.sequences_at(Tokens{32'768}), 3) == "13.024");
  CHECK(printed(plan.sequences_at(Tokens{131'072}), 3) == "3.256");
  CHECK(sequences(plan, 4096) == 104);
  CHECK(sequences(plan, 32'768) == 13);
  CHECK(sequences(plan, 131'072) == 3);
}

TEST_CASE("A.0: a card of 84.99e9 bytes holds 112, 14 and 3 of them, one of 80 GiB 114, 14 and 3") {
  const ModelShape model = shipped_model("llama-3.1-8b");
  const std::optional<Bytes> reported = shipped_device("a100-80g-sxm").memory_reported;
  REQUIRE(reported.has_value());
  const MemoryPlan seen = plan_of(model, reported->count());
  CHECK(sequences(seen, 4096) == 112);
  CHECK(sequences(seen, 32'768) == 14);
  CHECK(sequences(seen, 131'072) == 3);
  const MemoryPlan binary = plan_of(model, std::int64_t{80} << 30);
  CHECK(sequences(binary, 4096) == 114);
  CHECK(sequences(binary, 32'768) == 14);
  CHECK(sequences(binary, 131'072) == 3);
}

TEST_CASE("F5: an engine has 26,674 blocks of 16 and says 103 and 12; a prompt of 4096 needs a 257th block") {
  const MemoryPlan plan = plan_of(shipped_model("llama-3.1-8b"), k80Gb);
  CHECK(plan.blocks == Blocks{26'674});
  const Blocks watermark{plan.blocks.count() / 100};
  CHECK(watermark == Blocks{266});
  // 4096 and 32,768 tokens with the one being decoded.
  CHECK(plan.paged_sequences_at(Tokens{4095}, watermark) == 103);
  CHECK(plan.paged_sequences_at(Tokens{32'767}, watermark) == 12);
  CHECK(plan.paged_sequences_at(Tokens{4096}) == 26'674 / 257);
}

TEST_CASE("S0-25: 32 times the context leaves 32.00 times fewer sequences; 104/3 = 34.67 comes from whole ones") {
  const MemoryPlan plan = plan_of(shipped_model("llama-3.1-8b"), k80Gb);
  CHECK(plan.sequences_at(Tokens{4096}) / plan.sequences_at(Tokens{131'072}) == closed(32));
  CHECK(printed(real(sequences(plan, 4096)) / real(sequences(plan, 131'072)), 2) == "34.67");
}

TEST_CASE("S0-26: weights, KV cache, activations and reserve add up to what may be used, to the byte") {
  for (const char* name : {"llama-3.1-8b", "opt-13b", "qwen3-30b-a3b"}) {
    CAPTURE(name);
    const ModelShape model = shipped_model(name);
    MemoryBudget budget;
    budget.capacity = Bytes{k80Gb};
    budget.batched_tokens = Tokens{8192};
    budget.sampled_rows = 256;
    budget.reserve = Bytes{1'234'567'891};
    const MemoryPlan plan = plan_memory(model, {}, budget);
    CHECK(plan.capacity == Bytes{k80Gb});
    CHECK(plan.usable == Bytes{72'000'000'000});
    CHECK(plan.weights + plan.kv + plan.activations + plan.reserve == plan.usable);
    CHECK(plan.activations > Bytes{0});
    CHECK(plan.blocks * plan.block_bytes.count() <= Blocks{plan.kv.count()});
  }
}

TEST_CASE("S0-27: Llama-2-7B serves 26 where Llama-3.1-8B serves 104; with its own weights 27, 3 and none") {
  const ModelShape llama2 = shipped_model("llama-2-7b");
  const MemoryPlan llama3 = plan_of(shipped_model("llama-3.1-8b"), k80Gb);
  const MemoryPlan same_budget = plan_with_kv(llama2, llama3.kv);
  CHECK(same_budget.kv == llama3.kv);
  CHECK(sequences(same_budget, 4096) == 26);
  CHECK(sequences(llama3, 4096) == 4 * sequences(same_budget, 4096));
  const MemoryPlan own = plan_of(llama2, k80Gb);
  CHECK(printed(gb(own.kv), 2) == "58.52");
  CHECK(sequences(own, 4096) == 27);
  CHECK(sequences(own, 32'768) == 3);
  CHECK(sequences(own, 131'072) == 0);
  CHECK(printed(real(sequences(llama3, 4096)) / real(sequences(own, 4096)), 2) == "3.85");
}

TEST_CASE("S0-28: an FP8 cache holds 208, 26 and 6 sequences") {
  Dtypes dtypes;
  dtypes.kv = DType::kFp8;
  const MemoryPlan plan = plan_of(shipped_model("llama-3.1-8b"), k80Gb, dtypes);
  CHECK(printed(plan.sequences_at(Tokens{4096}), 2) == "208.39");
  CHECK(printed(plan.sequences_at(Tokens{32'768}), 2) == "26.05");
  CHECK(printed(plan.sequences_at(Tokens{131'072}), 2) == "6.51");
  CHECK(sequences(plan, 4096) == 208);
  CHECK(sequences(plan, 32'768) == 26);
  CHECK(sequences(plan, 131'072) == 6);
}

TEST_CASE("S0-29: KIVI's 3 bits make weights and KV of Llama-2-7B 2.6 times smaller at 42.1 GB of KV") {
  const ModelShape model = shipped_model("llama-2-7b");
  CHECK(kv_bits_per_token(model, DType::kFp16) * 3 == kv_bits_per_token(model, DType::kKivi2) * 16);
  const Tokens tokens{80'300};
  CHECK(printed(gb(kv_bytes(model, DType::kFp16, tokens)), 1) == "42.1");
  const double weights = gb(weight_bytes(model, {}));
  const double ratio =
      (weights + gb(kv_bytes(model, DType::kFp16, tokens))) / (weights + gb(kv_bytes(model, DType::kKivi2, tokens)));
  CHECK(ratio == doctest::Approx(2.6).epsilon(0.05).scale(0));
}

TEST_CASE("S0-30: with one KV head the longest context grows by the number of heads, in the same budget") {
  ModelShape all = shipped_model("llama-2-7b");
  ModelShape one = all;
  for (Attention& part : one.attentions) part.kv_heads = 1;
  const Bytes budget{std::int64_t{40} << 30};
  CHECK(plan_with_kv(one, budget).slots() == 32 * plan_with_kv(all, budget).slots());
}

TEST_CASE("S2-03: 400 GiB hold 320 sequences of 1.25 GiB, 400 GB hold 298") {
  const Bytes one = kv_bytes(shipped_model("llama-2-70b"), DType::kFp16, Tokens{4096});
  CHECK(Bytes{std::int64_t{400} << 30} / one == 320);
  CHECK(Bytes{400'000'000'000} / one == 298);
}

TEST_CASE("S2-14: fp16, fp8, int8, int4 and KIVI-2 hold 1, 2, 2, 4 and 5.33 times the tokens") {
  const ModelShape model = shipped_model("llama-3.1-8b");
  const auto capacity = [&](DType kv) {
    Dtypes dtypes;
    dtypes.kv = kv;
    return plan_of(model, k80Gb, dtypes).sequences_at(Tokens{4096});
  };
  const double half = capacity(DType::kFp16);
  CHECK(capacity(DType::kBf16) == closed(half));
  CHECK(capacity(DType::kFp8) == closed(2 * half));
  CHECK(capacity(DType::kInt8) == closed(2 * half));
  CHECK(capacity(DType::kInt4) == closed(4 * half));
  CHECK(capacity(DType::kKivi2) == closed(16.0 / 3 * half));
}

TEST_CASE("S2-36: 70B with 8 sequences of 4096 tokens and 2 GB besides does not fit two 80 GB cards at 0.9, but four") {
  const auto fitting = [](std::int64_t cards) {
    MemoryBudget budget;
    budget.capacity = Bytes{k80Gb};
    budget.reserve = Bytes{2'000'000'000 / cards};
    try {
      return plan_memory(shard(shipped_model("llama-3-70b"), cards), {}, budget).sequences_at(Tokens{4096});
    } catch (const InputError&) {
      return 0.0;
    }
  };
  CHECK(fitting(2) < 8);
  CHECK(fitting(4) >= 8);
}

TEST_CASE(
    "B.2: 12, 21 and 264 GiB are 15,728, 9,557 and 60,074 slots of OPT-13B, 66B and 175B; 7 of 2048 fit the first") {
  const auto slots = [](const char* name, std::int64_t gibibytes) {
    return plan_with_kv(shipped_model(name), Bytes{gibibytes << 30}).slots();
  };
  CHECK(slots("opt-13b", 12) == Tokens{15'728});
  CHECK(slots("opt-13b", 12) / Tokens{2048} == 7);
  CHECK(slots("opt-66b", 21) == Tokens{9557});
  CHECK(slots("opt-175b", 264) == Tokens{60'074});
}

TEST_CASE("B.4: OPT-13B leaves an A100-80 67,188 tokens at 0.95, 1.6 % above the 66,144 that were measured") {
  const DeviceSheet device = shipped_device("a100-80g-sxm");
  const MemoryPlan plan = plan_of(shipped_model("opt-13b"), device.memory_reported.value().count(), {}, 0.95);
  CHECK(real(plan.slots().count()) == doctest::Approx(67'188).epsilon(1e-3));
  CHECK(printed(100 * (real(plan.slots().count()) / 66'144 - 1), 1) == "1.6");
}

TEST_CASE("B.6: 80 GiB at 0.9 leave Llama-2-7B 29 requests of 256 blocks of 16") {
  const MemoryPlan plan = plan_of(shipped_model("llama-2-7b"), std::int64_t{80} << 30);
  CHECK(blocks_for(Tokens{4096}, plan.block_size) == Blocks{256});
  CHECK(plan.blocks / Blocks{256} == 29);
}
