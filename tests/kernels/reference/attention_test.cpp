// The references held against answers computed by hand and closed forms.
#include <array>
#include <cmath>
#include <doctest/doctest.h>
#include <vector>

#include "kernels/reference/reference.hpp"

using namespace servecast::kernels;

namespace {

constexpr std::array<SequenceSpan, 1> kOneSequence = {SequenceSpan{2, 1}};
constexpr std::array<SequenceSpan, 1> kOneToken = {SequenceSpan{1, 2}};
constexpr std::array<SequenceSpan, 1> kThreeTokens = {SequenceSpan{3, 1}};

// One sequence of positions 0 … 3 on pages 2 and 0 of two tokens each, one head of one element. Page 1 and slots that
// are not written hold 1e6.
struct Cache {
  std::array<float, 6> keys{};
  std::array<float, 6> values{};
  std::array<std::int32_t, 2> table = {2, 0};

  Cache(const std::vector<float>& k, const std::vector<float>& v) {
    keys.fill(1e6F);
    values.fill(1e6F);
    for (std::size_t i = 0; i < k.size(); ++i) {
      const std::size_t slot = static_cast<std::size_t>(table[i / 2]) * 2 + i % 2;
      keys[slot] = k[i];
      values[slot] = v[i];
    }
  }

  PagedKv kv() {
    PagedKv kv;
    kv.type = DType::kF32;
    kv.head_dim = 1;
    kv.page_size = 2;
    kv.pages = 3;
    kv.keys = keys.data();
    kv.values = values.data();
    return kv;
  }
};

// Within what log 3 loses in single precision.
void check_values(const Expected& expected, const std::vector<double>& values) {
  REQUIRE(expected.values.size() == values.size());
  for (std::size_t i = 0; i < values.size(); ++i) CHECK(expected.values[i] == doctest::Approx(values[i]).epsilon(3e-7));
}

const float kLog3 = std::log(3.0F);

}  // namespace

TEST_CASE("prefill: each token sees the context and those before it, through the pages of its sequence") {
  // Scores are 0, log 3, 0: weights 1, 3, 1.
  Cache cache({0, 1, 0}, {10, 20, 40});
  const std::array<std::int32_t, 2> starts = {0, 2};
  const std::array<std::int32_t, 1> contexts = {1};
  const std::array<float, 2> queries = {kLog3, kLog3};
  PrefillAttention op;
  op.type = DType::kF32;
  op.sequences = kOneSequence;
  op.query_starts = starts.data();
  op.contexts = contexts.data();
  op.queries = queries.data();
  op.kv = cache.kv();
  op.table = {cache.table.data(), 2};
  check_values(reference(op)[0], {(10 + 3 * 20) / 4.0, (10 + 3 * 20 + 40) / 5.0});
  op.window = 2;  // the last token sees two keys
  check_values(reference(op)[0], {(10 + 3 * 20) / 4.0, (3 * 20 + 40) / 4.0});
  op.window = 1;
  check_values(reference(op)[0], {20, 40});
}

TEST_CASE("decode: the scale multiplies scores, int8 and fp8 values are read with theirs") {
  Cache cache({0, 1, 0}, {10, 20, 40});
  const std::array<std::int32_t, 1> contexts = {2};
  const std::array<float, 1> queries = {2 * kLog3};
  DecodeAttention op;
  op.type = DType::kF32;
  op.scale = 0.5F;
  op.sequences = kOneToken;
  op.contexts = contexts.data();
  op.queries = queries.data();
  op.kv = cache.kv();
  op.table = {cache.table.data(), 2};
  check_values(reference(op)[0], {(10 + 3 * 20 + 40) / 5.0});

  std::array<std::int8_t, 6> keys = {0, 99, 99, 99, 0, 4};  // page 2 first
  std::array<std::int8_t, 6> values = {40, 99, 99, 99, 10, 5};
  std::array<float, 6> key_scales = {1, 9, 9, 9, 1, 0.25F};
  std::array<float, 6> value_scales = {1, 9, 9, 9, 1, 4};
  op.kv.type = DType::kInt8;
  op.kv.keys = keys.data();
  op.kv.values = values.data();
  op.kv.key_scales = key_scales.data();
  op.kv.value_scales = value_scales.data();
  check_values(reference(op)[0], {(10 + 3 * 20 + 40) / 5.0});

  std::array<std::uint8_t, 6> fp8_keys{};
  std::array<std::uint8_t, 6> fp8_values{};
  for (std::size_t i = 0; i < 6; ++i) {
    fp8_keys[i] = to_fp8(cache.keys[i] * 2);
    fp8_values[i] = to_fp8(cache.values[i] / 10);
  }
  op.kv.type = DType::kFp8;
  op.kv.keys = fp8_keys.data();
  op.kv.values = fp8_values.data();
  op.kv.key_scale = 0.5F;
  op.kv.value_scale = 10;
  check_values(reference(op)[0], {(10 + 3 * 20 + 40) / 5.0});
}

TEST_CASE("verification: a tree's token sees its ancestors alone, and windows count back from its depth") {
  // Context 10; new tokens 20, 40, 80: the second and the third hang below the first. All weights are equal.
  Cache cache({0, 0, 0, 0}, {10, 20, 40, 80});
  const std::array<std::int32_t, 1> contexts = {1};
  const std::array<float, 3> queries = {1, 1, 1};
  const std::array<std::uint64_t, 3> ancestors = {0b001, 0b011, 0b101};
  DecodeAttention op;
  op.type = DType::kF32;
  op.tokens = 3;
  op.sequences = kThreeTokens;
  op.contexts = contexts.data();
  op.queries = queries.data();
  op.kv = cache.kv();
  op.table = {cache.table.data(), 2};
  check_values(reference(op)[0], {15, 70 / 3.0, 150 / 4.0});  // a chain
  op.tree = true;
  op.ancestors = ancestors.data();
  check_values(reference(op)[0], {15, 70 / 3.0, 110 / 3.0});
  op.window = 3;  // both leaves are at depth 2: position 2 sees 0 … 2
  check_values(reference(op)[0], {15, 70 / 3.0, 110 / 3.0});
  op.tree = false;  // the third of a chain is at position 3 and sees 1 … 3
  check_values(reference(op)[0], {15, 70 / 3.0, 140 / 3.0});
}

TEST_CASE("latent decode: scores use latent and rope, outputs the latent part") {
  // Latent of two, rope of one; keys (0, 0, 0) and (1, 0, 1) against a query (log 3 / 2, 5, log 3 / 2).
  const std::array<float, 6> cache = {0, 0, 0, 1, 0, 1};
  const std::array<float, 3> queries = {kLog3 / 2, 5, kLog3 / 2};
  const std::array<std::int32_t, 1> contexts = {1};
  const std::array<std::int32_t, 1> table = {0};
  const std::array<SequenceSpan, 1> sequences = {SequenceSpan{1, 1}};
  LatentDecodeAttention op;
  op.type = DType::kF32;
  op.heads = 1;
  op.latent = 2;
  op.rope = 1;
  op.page_size = 2;
  op.pages = 1;
  op.sequences = sequences;
  op.contexts = contexts.data();
  op.queries = queries.data();
  op.cache = cache.data();
  op.table = {table.data(), 1};
  const Expected expected = reference(op)[0];
  CHECK(expected.values[0] == doctest::Approx(0.75).epsilon(3e-7));
  CHECK(expected.values[1] == 0);
}

TEST_CASE("naive attention: query heads share the key-value head of their group") {
  const std::array<float, 4> queries = {0, 0, 0, 0};  // one token, four heads
  const std::array<float, 4> keys = {0, 0, 0, 0};     // two tokens, two heads
  const std::array<float, 4> values = {1, 100, 3, 300};
  NaiveAttention op;
  op.type = DType::kF32;
  op.heads = 4;
  op.kv_heads = 2;
  op.head_dim = 1;
  op.key_tokens = 2;
  op.queries = queries.data();
  op.keys = keys.data();
  op.values = values.data();
  check_values(reference(op)[0], {2, 2, 200, 200});
}

TEST_CASE("sampled rows are rows of the whole answer") {
  std::vector<float> x(100 * 3);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i) / 50 - 2;
  Activation op;
  op.type = DType::kF32;
  op.kind = ActivationKind::kGelu;
  op.rows = 100;
  op.width = 3;
  op.x = x.data();
  const Expected all = reference(op)[0];
  const Expected some = reference(op, {10, 3})[0];
  CHECK(some.rows.size() >= 8);
  CHECK(some.rows.front() == 0);
  CHECK(some.rows.back() == 99);
  for (std::size_t i = 0; i < some.rows.size(); ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      CHECK(some.values[i * 3 + j] == all.values[static_cast<std::size_t>(some.rows[i]) * 3 + j]);
    }
  }
}
