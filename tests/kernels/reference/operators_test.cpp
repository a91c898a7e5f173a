#include <array>
#include <cmath>
#include <doctest/doctest.h>
#include <vector>

#include "kernels/reference/reference.hpp"
#include "kernels/reference/sampling.hpp"

using namespace servecast::kernels;

namespace {

void check_values(const Expected& expected, const std::vector<double>& values, double epsilon = 1e-9) {
  REQUIRE(expected.values.size() == values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    CHECK(expected.values[i] == doctest::Approx(values[i]).epsilon(epsilon));
  }
}

void check_exact(const Expected& expected, const std::vector<double>& values) {
  CHECK(expected.exact);
  CHECK(expected.values == values);
}

}  // namespace

TEST_CASE("RMSNorm divides by the root of the mean square and keeps the rounded sum") {
  const std::array<float, 2> x = {3, 4};
  const std::array<float, 2> weight = {1, 2};
  RmsNorm op;
  op.type = DType::kF32;
  op.width = 2;
  op.epsilon = 0;
  op.x = x.data();
  op.weight = weight.data();
  check_values(reference(op)[0], {3 / std::sqrt(12.5), 8 / std::sqrt(12.5)});
  op.epsilon = 12.5F;
  check_values(reference(op)[0], {3 / 5.0, 8 / 5.0});

  const std::array<std::uint16_t, 2> halves = {to_bf16(256), to_bf16(1)};
  std::array<std::uint16_t, 2> residual = {to_bf16(1), to_bf16(0)};
  const std::array<std::uint16_t, 2> ones = {to_bf16(1), to_bf16(1)};
  op.type = DType::kBf16;
  op.epsilon = 0;
  op.adds_residual = true;
  op.x = halves.data();
  op.residual = residual.data();
  op.weight = ones.data();
  const auto expected = reference(op);
  check_values(expected[1], {256, 1});  // 257 is no bf16
  check_values(expected[0], {256 / std::sqrt(65537 / 2.0), 1 / std::sqrt(65537 / 2.0)});
}

TEST_CASE("activations are SiLU and the tanh form of GELU") {
  const std::array<float, 2> x = {1, 3};
  Activation op;
  op.type = DType::kF32;
  op.x = x.data();
  check_values(reference(op)[0], {3 / (1 + std::exp(-1.0))});
  op.kind = ActivationKind::kGeluMul;
  check_values(reference(op)[0], {3 * 0.841191990608}, 1e-9);  // gelu_tanh(1), to twelve places
  op.kind = ActivationKind::kGelu;
  op.width = 2;
  check_values(reference(op)[0], {0.841191990608, 2.996362607918}, 1e-9);
}

TEST_CASE("products read weights in each format and layout") {
  const std::array<float, 4> x = {1, 2, 3, 4};
  const std::array<std::int8_t, 8> int8 = {1, 0, 0, 1, 1, 1, 1, 1};
  const std::array<float, 2> row_scales = {0.5F, 2};
  Gemm op;
  op.type = DType::kF32;
  op.weight_type = DType::kInt8;
  op.n = 2;
  op.k = 4;
  op.x = x.data();
  op.weights = int8.data();
  op.scales = row_scales.data();
  check_values(reference(op)[0], {2.5, 20});

  // Row 0: 1 1 -1 -1; row 1: 2 0 0 7; groups of two with scales 1, 10 and 0.5, 1.
  const std::array<std::uint8_t, 4> int4 = {0x99, 0x77, 0x8A, 0xF8};
  const std::array<float, 4> group_scales = {1, 10, 0.5F, 1};
  op.weight_type = DType::kInt4;
  op.group = 2;
  op.weights = int4.data();
  op.scales = group_scales.data();
  check_values(reference(op)[0], {3 - 70, 1 + 28});

  std::vector<float> panel(4 * 32, 0.0F);
  for (std::size_t i = 0; i < 4; ++i) panel[i * 32 + 1] = static_cast<float>(i);  // row 1: 0 1 2 3
  op.weight_type = DType::kF32;
  op.layout = WeightLayout::kPanels;
  op.weights = panel.data();
  check_values(reference(op)[0], {0, 2 + 6 + 12});

  const std::array<std::uint8_t, 2> fp8_x = {to_fp8(2), to_fp8(4)};
  const std::array<std::uint8_t, 2> fp8_weights = {to_fp8(8), to_fp8(0.5F)};
  Gemm fp8;
  fp8.type = fp8.weight_type = DType::kFp8;
  fp8.k = 2;
  fp8.x_scale = 0.5F;
  fp8.weight_scale = 3;
  fp8.x = fp8_x.data();
  fp8.weights = fp8_weights.data();
  check_values(reference(fp8)[0], {18 * 1.5});
}

TEST_CASE("grouped products take each group's weights and gathered rows, and skip empty groups") {
  const std::array<float, 2> x = {10, 100};
  const std::array<float, 3> weights = {1, 2, 3};
  const std::array<std::int32_t, 4> offsets = {0, 1, 1, 3};
  const std::array<std::int32_t, 3> gather = {1, 0, 1};
  GroupedGemm op;
  op.type = DType::kF32;
  op.groups = 3;
  op.rows = 3;
  op.x_rows = 2;
  op.gathers = true;
  op.offsets = offsets.data();
  op.gather = gather.data();
  op.x = x.data();
  op.weights = weights.data();
  check_values(reference(op)[0], {100, 30, 300});
}

TEST_CASE("routing sorts by expert and is stable by token; ties take the lower expert") {
  const float log2 = std::log(2.0F);
  const std::array<float, 8> logits = {0, log2, log2, 0, log2, 0, 0, 0};
  RouteExperts op;
  op.tokens = 2;
  op.experts = 4;
  op.chosen = 2;
  op.logits = logits.data();
  const auto renormalised = reference(op);
  check_values(renormalised[0], {0.5, 0.5, 2 / 3.0, 1 / 3.0}, 1e-7);
  check_exact(renormalised[1], {1, 2, 0, 1});
  check_exact(renormalised[2], {0, 1, 3, 4, 4});
  check_exact(renormalised[3], {1, 0, 1, 0});
  check_exact(renormalised[4], {1, 3, 0, 2});
  op.renormalise = false;
  check_values(reference(op)[0], {2 / 6.0, 2 / 6.0, 2 / 5.0, 1 / 5.0}, 1e-7);
}

TEST_CASE("combining weighs each choice's row") {
  const std::array<float, 2> weights = {0.25F, 0.75F};
  const std::array<std::int32_t, 2> positions = {1, 0};
  const std::array<float, 2> rows = {100, 8};
  CombineExperts op;
  op.type = DType::kF32;
  op.chosen = 2;
  op.weights = weights.data();
  op.positions = positions.data();
  op.rows = rows.data();
  check_values(reference(op)[0], {2 + 75});
}

TEST_CASE("appending rotates pairs half a head apart and leaves other slots alone") {
  std::array<float, 8> table{};  // positions 0 and 1, rotary 4: one turn of 1 and one of 0.01
  rope_table(2, 4, 10000, table.data());
  CHECK(table[4] == doctest::Approx(std::cos(1.0)));
  CHECK(table[5] == doctest::Approx(std::cos(0.01)));
  CHECK(table[6] == doctest::Approx(std::sin(1.0)));
  CHECK(table[7] == doctest::Approx(std::sin(0.01)));
  const std::array<std::int32_t, 1> positions = {1};
  const std::array<std::int64_t, 1> slots = {3};
  std::array<float, 5> queries = {1, 0, 0, 1, 9};
  const std::array<float, 5> keys = {0, 0, 1, 0, 7};
  const std::array<float, 5> values = {1, 2, 3, 4, 5};
  AppendKv op;
  op.type = op.kv.type = DType::kF32;
  op.rotary = 4;
  op.max_position = 2;
  op.cos_sin = table.data();
  op.positions = positions.data();
  op.slots = slots.data();
  op.queries = queries.data();
  op.keys = keys.data();
  op.values = values.data();
  op.kv.head_dim = 5;
  op.kv.page_size = 2;
  op.kv.pages = 2;
  const auto expected = reference(op);
  check_values(expected[0], {std::cos(1.0), -std::sin(0.01), std::sin(1.0), std::cos(0.01), 9}, 1e-6);
  const auto key_row = std::vector<double>(expected[1].values.end() - 5, expected[1].values.end());
  CHECK(key_row[0] == doctest::Approx(-std::sin(1.0)));
  CHECK(key_row[2] == doctest::Approx(std::cos(1.0)));
  CHECK(key_row[4] == 7);
  CHECK(expected[2].values[19] == 5);
  for (std::size_t i = 0; i < 15; ++i) CHECK(std::isnan(expected[1].values[i]));
}

TEST_CASE("an int8 cache makes the largest magnitude 127, an fp8 one divides by its scale") {
  const std::array<std::int32_t, 1> positions = {0};
  const std::array<std::int64_t, 1> slots = {0};
  std::array<float, 2> queries = {0, 0};
  const std::array<float, 2> keys = {-254, 3.1F};
  AppendKv op;
  op.type = DType::kF32;
  op.positions = positions.data();
  op.slots = slots.data();
  op.queries = queries.data();
  op.keys = op.values = keys.data();
  op.kv.type = DType::kInt8;
  op.kv.head_dim = 2;
  op.kv.page_size = 1;
  op.kv.pages = 1;
  const auto quantised = reference(op);
  check_values(quantised[1], {-254, 4});  // 3.1 / 2 rounds to 2
  check_values(quantised[3], {2});
  op.kv.type = DType::kFp8;
  op.kv.key_scale = 2;
  check_values(reference(op)[1], {-256, 3.0});  // 127 lies between 120 and 128, 1.55 between 1.5 and 1.625
}

TEST_CASE("blocks are copied, gathered and scattered") {
  std::array<std::int8_t, 48> cache{};
  for (std::size_t i = 0; i < cache.size(); ++i) cache[i] = static_cast<std::int8_t>(i);
  const std::array<std::int32_t, 2> from_to = {2, 0};
  CopyBlocks copy;
  copy.pairs = 1;
  copy.blocks = 3;
  copy.block_bytes = 16;
  copy.from_to = from_to.data();
  copy.cache = cache.data();
  const Expected copied = reference(copy)[0];
  CHECK(copied.values[0] == 32);
  CHECK(copied.values[15] == 47);
  CHECK(std::isnan(copied.values[16]));
  std::array<std::int8_t, 32> packed{};
  packed.fill(-3);
  GatherBlocks gather;
  gather.count = 2;
  gather.blocks = 3;
  gather.block_bytes = 16;
  gather.list = from_to.data();
  gather.cache = cache.data();
  gather.packed = packed.data();
  CHECK(reference(gather)[0].values[0] == 32);
  CHECK(reference(gather)[0].values[16] == 0);
  gather.scatter = true;
  CHECK(reference(gather)[0].values[47] == -3);
  CHECK(std::isnan(reference(gather)[0].values[16]));
}

TEST_CASE("sampling cuts at top-k and top-p, renormalises, and takes the first token above the uniform") {
  // Probabilities 0.1, 0.4, 0.2, 0.3.
  const std::array<float, 4> logits = {std::log(1.0F), std::log(4.0F), std::log(2.0F), std::log(3.0F)};
  Sample op;
  op.vocabulary = 4;
  op.temperature = 1;
  op.logits = logits.data();
  const auto token = [&](float uniform) {
    op.uniforms = &uniform;
    return reference(op)[0].values[0];
  };
  CHECK(token(0.09F) == 0);
  CHECK(token(0.11F) == 1);
  CHECK(token(0.49F) == 1);
  CHECK(token(0.51F) == 2);
  CHECK(token(0.71F) == 3);
  op.top_k = 2;  // 4/7 and 3/7
  CHECK(token(0.57F) == 1);
  CHECK(token(0.58F) == 3);
  op.top_k = 0;
  op.top_p = 0.65F;  // the same two
  CHECK(token(0.57F) == 1);
  CHECK(token(0.58F) == 3);
  CHECK(kept_tokens(op, 0).margin == doctest::Approx(0.05).epsilon(1e-5));
  op.top_k = 2;
  op.top_p = 0.5F;  // of the two left: 4/7 is enough
  CHECK(token(0.99F) == 1);
  op.top_k = 0;
  op.top_p = 1;
  op.temperature = 0.5F;  // squares: 1, 16, 4, 9 of 30
  CHECK(token(0.56F) == 1);
  CHECK(token(0.57F) == 2);
  op.temperature = 0;
  CHECK(token(0.99F) == 1);
}

TEST_CASE("verification keeps tokens while the uniform is below target over draft, then samples the residual") {
  const std::array<float, 9> target = {0.2F, 0.5F, 0.3F, 0.6F, 0.2F, 0.2F, 0, 0.25F, 0.75F};
  const std::array<float, 6> draft = {0.4F, 0.3F, 0.3F, 0.1F, 0.8F, 0.1F};
  const std::array<std::int32_t, 2> proposed = {0, 1};
  std::array<float, 3> uniforms = {0.49F, 0.24F, 0.3F};
  VerifyDraft op;
  op.drafted = 2;
  op.vocabulary = 3;
  op.target = target.data();
  op.draft = draft.data();
  op.proposed = proposed.data();
  op.uniforms = uniforms.data();
  auto expected = reference(op);
  check_exact(expected[0], {2});
  check_exact(expected[1], {0, 1, 2});  // the last row: 0, 0.25, 0.75
  uniforms = {0.49F, 0.26F, 0.83F};     // the residual of row 1: 0.5, 0, 0.1
  expected = reference(op);
  check_exact(expected[0], {1});
  check_exact(expected[1], {0, 0, -1});
  uniforms[2] = 0.84F;
  check_exact(reference(op)[1], {0, 2, -1});
  uniforms = {0.51F, 0, 0.5F};  // the residual of row 0: token 1 alone
  expected = reference(op);
  check_exact(expected[0], {0});
  check_exact(expected[1], {1, -1, -1});
}

TEST_CASE("an embedding copies its rows") {
  const std::array<float, 6> table = {1, 2, 3, 4, 5, 6};
  const std::array<std::int32_t, 2> ids = {2, 0};
  Embedding op;
  op.type = DType::kF32;
  op.tokens = 2;
  op.width = 2;
  op.vocabulary = 3;
  op.ids = ids.data();
  op.table = table.data();
  check_exact(reference(op)[0], {5, 6, 1, 2});
}
