#include "costmodel/work.hpp"

#include <doctest/doctest.h>
#include <string>

#include "costmodel/closed_form.hpp"
#include "costmodel/model_config.hpp"
#include "tests/unit/costmodel/sample_models.hpp"
#include "tests/unit/costmodel/shapes.hpp"

using namespace servecast;

namespace {

ModelShape sample(const std::string& name) {
  for (const SampleModel& model : sample_models()) {
    if (model.name == name) return parse_model(model.config, name);
  }
  throw std::logic_error("no sample model " + name);
}

Work total(const std::vector<Operator>& list) {
  Work sum;
  for (const Operator& op : list) sum += op.total();
  return sum;
}

StepShape decode(std::int64_t sequences, std::int64_t context) {
  return {{}, sequences, Tokens{sequences * context}, Tokens{sequences * context}, sequences};
}

}  // namespace

TEST_CASE("one decoded token reads every weight once, except the embedding's other rows") {
  for (const char* name : {"llama-3.1-8b", "qwen2.5-7b", "qwen3-0.6b", "gemma-2-9b", "falcon-7b", "gpt2", "opt-125m"}) {
    CAPTURE(name);
    const ModelShape model = sample(name);
    const StepWork work(model, {}, 1);
    const double all = static_cast<double>(weight_bytes(model, {}).count());
    // An untied embedding is read in one row only; a tied one is the LM head. Positions are read in one row.
    const double tables = static_cast<double>((model.tied ? 0 : model.vocab) + model.positions);
    const double rows = model.positions > 0 ? 2 : 1;
    const double expected = all + 2 * static_cast<double>(model.hidden) * (rows - tables);
    CHECK(total(work.operators(decode(1, 100))).weight_bytes == doctest::Approx(expected).epsilon(1e-12));
  }
}

TEST_CASE("a step that touches every expert reads all weights of a mixture") {
  const ModelShape model = parse_model(kGptOss20bConfig, "gpt-oss-20b");
  const Dtypes dtypes = published_dtypes(model);
  const StepWork work(model, dtypes, 1);
  const double embedding = 2.0 * static_cast<double>(model.hidden) * static_cast<double>(4096 - model.vocab);
  const double expected = static_cast<double>(weight_bytes(model, dtypes).count()) + embedding;
  CHECK(total(work.operators(decode(4096, 100))).weight_bytes == doctest::Approx(expected).epsilon(1e-9));
}

TEST_CASE("experts touched grow with tokens and stop at their number") {
  const Experts experts{.count = 128, .per_token = 8};
  CHECK(expected_experts(experts, 1) == doctest::Approx(8));
  CHECK(expected_experts(experts, 2) == doctest::Approx(16 - 64.0 / 128));
  CHECK(expected_experts(experts, 100'000) == doctest::Approx(128));
  const Experts all{.count = 4, .per_token = 4};
  CHECK(expected_experts(all, 1) == 4);
  CHECK(expected_experts(all, 0) == 0);
}

TEST_CASE("decoding costs two FLOPs per parameter and four per query head, dimension and key") {
  const ModelShape model = sample("llama-3.1-8b");
  const StepWork work(model, {}, 1);
  const double matrices = 6'979'588'096 - 65 * 4096 + 128'256.0 * 4096;
  CHECK(total(work.operators(decode(1, 1000))).flops == 2 * matrices + 4.0 * 32 * 32 * 128 * 1000);
}

TEST_CASE("a step reads the weights and each cached key and value once") {
  const ModelShape model = sample("llama-3.1-8b");
  const StepWork work(model, {}, 1);
  CHECK(total(work.operators(decode(16, 1024))).kv_bytes == 16.0 * 1024 * 131'072);
  const PrefillChunk chunk{Tokens{100}, Tokens{400}};
  CHECK(total(work.operators({{&chunk, 1}, 0, {}, {}, 0})).kv_bytes == 500.0 * 131'072);
}

TEST_CASE("the pairs of a causal chunk count every token's keys") {
  const auto counted = [](std::int64_t tokens, std::int64_t context, std::int64_t window) {
    double pairs = 0;
    for (std::int64_t i = 1; i <= tokens; ++i) pairs += static_cast<double>(std::min(context + i, window));
    return pairs;
  };
  for (const std::int64_t tokens : {1, 2, 7, 100}) {
    for (const std::int64_t context : {0, 1, 63, 64, 65, 500}) {
      const PrefillChunk chunk{Tokens{tokens}, Tokens{context}};
      CHECK(causal_pairs(chunk, std::nullopt) == counted(tokens, context, 1 << 30));
      for (const std::int64_t window : {1, 64, 128}) {
        CAPTURE(tokens);
        CAPTURE(context);
        CHECK(causal_pairs(chunk, Tokens{window}) == counted(tokens, context, window));
      }
    }
  }
}

TEST_CASE("a prefill in chunks attends the same pairs as in one piece") {
  const StepWork work(sample("llama-3.1-8b"), {}, 1);
  const PrefillChunk whole{Tokens{4096}, Tokens{0}};
  double chunked = 0;
  for (std::int64_t done = 0; done < 4096; done += 512) {
    const PrefillChunk part{Tokens{512}, Tokens{done}};
    chunked += work.prefill_attention(0, {&part, 1}).total().flops;
  }
  CHECK(work.prefill_attention(0, {&whole, 1}).total().flops == chunked);
}

TEST_CASE("the closed form differs from the operators only by the diagonal and by the norms") {
  const ModelShape model = sample("llama-3.1-8b");
  const ClosedForm form = ClosedForm::of(model, {});
  CHECK(form.prefill_flops(4096) / 1e12 == doctest::Approx(61.57).epsilon(1e-4));
  CHECK(form.prefill_flops(131'072) / 1e12 == doctest::Approx(6333.26).epsilon(1e-6));
  CHECK(form.cut_point() == doctest::Approx(53'250.03).epsilon(1e-7));
  const StepWork work(model, {}, 1);
  const PrefillChunk chunk{Tokens{4096}, Tokens{0}};
  const double listed = total(work.operators({{&chunk, 1}, 0, {}, {}, 0})).flops;
  const double diagonal = 2.0 * 32 * 4096 * 4096;
  CHECK(listed == form.prefill_flops(4096) - 2.0 * 4096 * 65 * 4096 + diagonal);
}

TEST_CASE("sliding layers attend their window only") {
  const ModelShape model = parse_model(kGptOss20bConfig, "gpt-oss-20b");
  const StepWork work(model, {}, 1);
  REQUIRE(work.attention_kinds().size() == 2);
  const StepShape shape{{}, 1, Tokens{10'000}, Tokens{128}, 1};
  CHECK(work.decode_attention(0, shape).work.flops == 4.0 * 64 * 64 * 128);
  CHECK(work.decode_attention(1, shape).work.flops == 4.0 * 64 * 64 * 10'000);
}

TEST_CASE("latent attention decodes in the latent and caches 576 elements a layer") {
  const StepWork work(parse_model(kDeepSeekV3Config, "v3"), {}, 1);
  const Operator op = work.decode_attention(0, decode(1, 1000));
  CHECK(op.work.flops == 2.0 * 128 * (512 + 64 + 512) * 1000);
  CHECK(op.total().kv_bytes == 61.0 * 576 * 2 * 999);
}

TEST_CASE("the work of all tensor-parallel ranks is that of one device, plus collectives") {
  std::mt19937_64 random(7);
  const ModelShape model = sample("llama-3.1-8b");
  const StepWork one(model, {}, 1);
  const StepWork four(model, {}, 4);
  OwnedShape owned;
  for (int i = 0; i < 200; ++i) {
    fill_random(random, model, owned);
    const Work whole = total(one.operators(owned.shape));
    const Work rank = total(four.operators(owned.shape));
    CHECK(4 * rank.flops == doctest::Approx(whole.flops).epsilon(1e-14));
    CHECK(4 * rank.kv_bytes == doctest::Approx(whole.kv_bytes).epsilon(1e-14));
    CHECK(whole.link_bytes == 0);
    CHECK((rank.link_bytes > 0) == (tokens_of(owned.shape) > 0 || owned.shape.sampled_rows > 0));
  }
}

TEST_CASE("two all-reduces a layer and one after the embedding send 2(n-1)/n of the stream") {
  const StepWork work(sample("llama-3.1-8b"), {}, 4);
  for (const Operator& op : work.operators(decode(10, 100))) {
    if (op.name != "all_reduce") continue;
    CHECK(op.times == 65);
    CHECK(op.work.link_bytes == 1.5 * 10 * 4096 * 2);
    return;
  }
  FAIL("no all-reduce");
}

TEST_CASE("nothing runs when the step is empty") {
  const StepWork work(sample("llama-3.1-8b"), {}, 2);
  CHECK(work.operators({}).empty());
}
