// What the documents ask of any attention with a cache, on these kernels: growing by tokens equals all at once, sizes
// of caches, absorbed against expanded latents, online against standard softmax, copy on write.
#include <cmath>
#include <doctest/doctest.h>
#include <vector>

#include "kernels/cpu/backend.hpp"
#include "kernels/emulation/backend.hpp"
#include "tests/kernels/support/cached_sequence.hpp"

using namespace servecast::kernels;

namespace {

constexpr std::int32_t kPrompt = 16;
constexpr std::int32_t kAll = 24;

LayerShape emulated_shape() {
  LayerShape shape;
  shape.type = DType::kF16;
  shape.head_dim = 64;
  return shape;
}

// A prompt of 16 tokens, then 8 tokens one by one.
Array grown(Backend& backend, const LayerShape& shape, const Tokens& tokens, CacheMemory& memory) {
  CachedSequence sequence(backend, shape, memory, {2, 0});
  Array out = sequence.run(part_of(tokens, shape, 0, kPrompt));
  CHECK(sequence.length() == kPrompt);
  for (std::int32_t i = kPrompt; i < kAll; ++i) out.append(sequence.run(part_of(tokens, shape, i, 1)));
  CHECK(sequence.length() == kAll);
  return out;
}

Array at_once(Backend& backend, const LayerShape& shape, const Tokens& tokens) {
  CacheMemory memory(shape);
  return CachedSequence(backend, shape, memory, {1, 3}).run(tokens);
}

// Every key-value head of `tokens` once for each query head that reads it.
Tokens repeat_heads(const Tokens& tokens, const LayerShape& shape) {
  const std::int64_t group = shape.heads / shape.kv_heads;
  Tokens repeated{tokens.queries, {shape.type, 0}, {shape.type, 0}};
  for (std::int64_t row = 0; row < tokens.keys.size() / shape.head_dim; ++row) {
    for (std::int64_t copy = 0; copy < group; ++copy) {
      repeated.keys.append(tokens.keys.part(row * shape.head_dim, shape.head_dim));
      repeated.values.append(tokens.values.part(row * shape.head_dim, shape.head_dim));
    }
  }
  return repeated;
}

void check_head_counts(Backend& backend, LayerShape shape) {
  for (const std::int32_t kv_heads : {1, 4, 8}) {
    shape.kv_heads = kv_heads;
    const Tokens tokens = random_tokens(shape, kAll, 3);
    CacheMemory memory(shape);
    const Array out = grown(backend, shape, tokens, memory);
    CHECK(memory.written() == std::int64_t{2} * kAll * kv_heads * shape.head_dim);
    LayerShape all_heads = shape;
    all_heads.kv_heads = shape.heads;
    CacheMemory repeated(all_heads);
    CHECK(grown(backend, all_heads, repeat_heads(tokens, shape), repeated) == out);
  }
}

}  // namespace

TEST_CASE("a prompt and eight decoded tokens equal one pass over all, within 1e-5 in fp32") {
  const auto backend = make_cpu_backend();
  const LayerShape shape;
  const Tokens tokens = random_tokens(shape, kAll, 1);
  CacheMemory memory(shape);
  CHECK(largest_difference(grown(*backend, shape, tokens, memory), at_once(*backend, shape, tokens)) <= 1e-5);
}

TEST_CASE("a prompt and eight decoded tokens equal one pass over all, within fp16's rounding on CUDA kernels") {
  const auto backend = make_emulated_backend({});
  const LayerShape shape = emulated_shape();
  const Tokens tokens = random_tokens(shape, kAll, 1);
  CacheMemory memory(shape);
  CHECK(largest_difference(grown(*backend, shape, tokens, memory), at_once(*backend, shape, tokens)) <= 4e-3);
}

TEST_CASE("caches hold two vectors a token and key-value head, and repeated heads give the same bits") {
  check_head_counts(*make_cpu_backend(), {});
}

TEST_CASE("caches of CUDA kernels hold the same, and repeated heads give the same bits") {
  check_head_counts(*make_emulated_backend({}), emulated_shape());
}

namespace {

// A small latent attention: one cached vector of latent + rope elements a token, expanded to keys of nope + rope and
// values for each head by two matrices.
struct Latent {
  static constexpr std::int32_t kHeads = 4;
  static constexpr std::int32_t kLatent = 32;
  static constexpr std::int32_t kRope = 8;
  static constexpr std::int32_t kNope = 16;
  static constexpr std::int32_t kWidth = kLatent + kRope;
  static constexpr std::int32_t kKey = kNope + kRope;

  Latent()
      : cache(DType::kF32, std::int64_t{32} * kWidth),
        queries(DType::kF32, std::int64_t{kHeads} * kKey),
        key_up(DType::kF32, std::int64_t{kHeads} * kNope * kLatent),
        value_up(DType::kF32, std::int64_t{kHeads} * kNope * kLatent) {
    Random random(5);
    for (Array* array : {&cache, &queries, &key_up, &value_up}) array->fill_normal(random);
    for (Array* matrix : {&key_up, &value_up}) {
      for (std::int64_t i = 0; i < matrix->size(); ++i) matrix->set(i, matrix->at(i) / std::sqrt(double{kLatent}));
    }
  }

  // Row `row` of a head's matrix times a latent of the cache.
  [[nodiscard]] double expand(const Array& matrix, std::int64_t head, std::int64_t row, std::int64_t token) const {
    double sum = 0;
    for (std::int64_t i = 0; i < kLatent; ++i) {
      sum += matrix.at((head * kNope + row) * kLatent + i) * cache.at(token * kWidth + i);
    }
    return sum;
  }

  Array cache;
  Array queries;
  Array key_up;
  Array value_up;
};

constexpr std::int32_t kContext = kAll - 1;
const std::vector<SequenceSpan> kLatentSpans = {{1, kContext}};
const std::vector<std::int32_t> kPages = {1, 0};

// [heads][nope] by the latent kernel: queries folded into the latent space, outputs folded out of it.
std::vector<double> absorbed(Backend& backend, Latent& layer, float scale) {
  Array queries(DType::kF32, std::int64_t{Latent::kHeads} * Latent::kWidth);
  for (std::int64_t h = 0; h < Latent::kHeads; ++h) {
    for (std::int64_t i = 0; i < Latent::kLatent; ++i) {
      double sum = 0;
      for (std::int64_t row = 0; row < Latent::kNope; ++row) {
        sum +=
            layer.queries.at(h * Latent::kKey + row) * layer.key_up.at((h * Latent::kNope + row) * Latent::kLatent + i);
      }
      queries.set(h * Latent::kWidth + i, sum);
    }
    for (std::int64_t i = 0; i < Latent::kRope; ++i) {
      queries.set(h * Latent::kWidth + Latent::kLatent + i, layer.queries.at(h * Latent::kKey + Latent::kNope + i));
    }
  }
  Array paged(DType::kF32, layer.cache.size());
  for (std::int64_t i = 0; i < paged.size(); ++i) {
    const std::int64_t half = paged.size() / 2;
    paged.set((i + half) % paged.size(), layer.cache.at(i));  // pages 1, 0
  }
  Array out(DType::kF32, std::int64_t{Latent::kHeads} * Latent::kLatent);
  LatentDecodeAttention op;
  op.type = DType::kF32;
  op.heads = Latent::kHeads;
  op.latent = Latent::kLatent;
  op.rope = Latent::kRope;
  op.pages = 2;
  op.scale = scale;
  op.sequences = kLatentSpans;
  op.contexts = &kContext;
  op.queries = queries.data();
  op.out = out.data();
  op.cache = paged.data();
  op.table = {kPages.data(), 2};
  const Status status = backend.launch(op, nullptr);
  CHECK_MESSAGE(status.ok(), status.message());
  std::vector<double> values;
  for (std::int64_t row = 0; row < std::int64_t{Latent::kHeads} * Latent::kNope; ++row) {
    double sum = 0;
    for (std::int64_t i = 0; i < Latent::kLatent; ++i) {
      sum += layer.value_up.at(row * Latent::kLatent + i) * out.at(row / Latent::kNope * Latent::kLatent + i);
    }
    values.push_back(sum);
  }
  return values;
}

// The same by attention over expanded keys and values, the values padded to the keys' width.
std::vector<double> expanded(Backend& backend, Latent& layer, float scale) {
  Array keys(DType::kF32, std::int64_t{kAll} * Latent::kHeads * Latent::kKey);
  Array values(DType::kF32, keys.size());
  for (std::int64_t token = 0; token < kAll; ++token) {
    for (std::int64_t h = 0; h < Latent::kHeads; ++h) {
      const std::int64_t first = (token * Latent::kHeads + h) * Latent::kKey;
      for (std::int64_t i = 0; i < Latent::kNope; ++i) {
        keys.set(first + i, layer.expand(layer.key_up, h, i, token));
        values.set(first + i, layer.expand(layer.value_up, h, i, token));
      }
      for (std::int64_t i = 0; i < Latent::kRope; ++i) {
        keys.set(first + Latent::kNope + i, layer.cache.at(token * Latent::kWidth + Latent::kLatent + i));
      }
    }
  }
  Array scores(DType::kF32, std::int64_t{Latent::kHeads} * kAll);
  Array out(DType::kF32, layer.queries.size());
  NaiveAttention op;
  op.type = DType::kF32;
  op.heads = op.kv_heads = Latent::kHeads;
  op.head_dim = Latent::kKey;
  op.key_tokens = kAll;
  op.scale = scale;
  op.queries = layer.queries.data();
  op.keys = keys.data();
  op.values = values.data();
  op.scores = static_cast<float*>(scores.data());
  op.out = out.data();
  const Status status = backend.launch(op, nullptr);
  CHECK_MESSAGE(status.ok(), status.message());
  std::vector<double> result;
  for (std::int64_t h = 0; h < Latent::kHeads; ++h) {
    for (std::int64_t i = 0; i < Latent::kNope; ++i) result.push_back(out.at(h * Latent::kKey + i));
  }
  return result;
}

}  // namespace

TEST_CASE("a latent cache holds latent + rope elements a token, and absorbed equals expanded within 1e-4") {
  const auto backend = make_cpu_backend();
  Latent layer;
  const float scale = 1 / std::sqrt(static_cast<float>(Latent::kKey));
  const auto one = absorbed(*backend, layer, scale);
  const auto other = expanded(*backend, layer, scale);
  for (std::size_t i = 0; i < one.size(); ++i) CHECK(std::abs(one[i] - other[i]) <= 1e-4);
  LatentDecodeAttention shape;
  shape.pages = 3;
  shape.page_size = 8;
  for_each_buffer(shape, [](const Buffer& buffer, const auto*) {
    if (buffer.name == "cache") CHECK(buffer.elements == std::int64_t{kAll} * (512 + 64));
  });
}

TEST_CASE("online softmax equals the standard one within 2e-6 in fp32") {
  const auto backend = make_cpu_backend();
  LayerShape shape;
  shape.head_dim = 64;
  shape.pages = 16;
  constexpr std::int32_t kTokens = 200;
  Tokens tokens = random_tokens(shape, kTokens, 11);
  // The paged cache as [page][head][slot][element]; pages in reverse order.
  CacheMemory memory(shape);
  std::vector<std::int32_t> pages;
  for (std::int32_t page = 15; page >= 0; --page) pages.push_back(page);
  for (std::int64_t t = 0; t < kTokens; ++t) {
    for (std::int64_t i = 0; i < 8 * 64; ++i) {
      const std::int64_t row = (pages[static_cast<std::size_t>(t / 16)] * 8 + i / 64) * 16 + t % 16;
      memory.keys.set(row * 64 + i % 64, tokens.keys.at(t * 512 + i));
      memory.values.set(row * 64 + i % 64, tokens.values.at(t * 512 + i));
    }
  }
  Array online(DType::kF32, tokens.queries.size());
  Array standard(DType::kF32, tokens.queries.size());
  Array scores(DType::kF32, std::int64_t{8} * kTokens * kTokens);
  const std::vector<SequenceSpan> spans = {{kTokens, 0}};
  const std::vector<std::int32_t> starts = {0, kTokens};
  PrefillAttention paged;
  paged.type = paged.kv.type = DType::kF32;
  paged.heads = paged.kv.kv_heads = 8;
  paged.kv.head_dim = 64;
  paged.kv.pages = 16;
  paged.kv.keys = memory.keys.data();
  paged.kv.values = memory.values.data();
  paged.scale = 0.125F;
  paged.sequences = spans;
  paged.query_starts = starts.data();
  paged.contexts = starts.data();
  paged.queries = tokens.queries.data();
  paged.out = online.data();
  paged.table = {pages.data(), 16};
  NaiveAttention naive;
  naive.type = DType::kF32;
  naive.heads = naive.kv_heads = 8;
  naive.head_dim = 64;
  naive.query_tokens = naive.key_tokens = kTokens;
  naive.scale = 0.125F;
  naive.queries = tokens.queries.data();
  naive.keys = tokens.keys.data();
  naive.values = tokens.values.data();
  naive.scores = static_cast<float*>(scores.data());
  naive.out = standard.data();
  REQUIRE(backend->launch(paged, nullptr).ok());
  REQUIRE(backend->launch(naive, nullptr).ok());
  CHECK(largest_difference(online, standard) <= 2e-6);
  CHECK(largest_difference(online, Array(DType::kF32, online.size())) > 1);  // there is something to compare
}

TEST_CASE("two sequences share a page and a half; the first to write copies the half, once") {
  const auto backend = make_cpu_backend();
  const LayerShape shape;
  const Tokens shared = random_tokens(shape, 20, 21);
  const Tokens one_more = random_tokens(shape, 1, 22);
  const Tokens another = random_tokens(shape, 1, 23);
  CacheMemory memory(shape);
  CachedSequence parent(*backend, shape, memory, {0, 1});
  static_cast<void>(parent.run(shared));
  CachedSequence child(*backend, shape, memory, {0, 1});
  child.adopt(20);
  std::vector<int> references = {2, 2, 0, 0};

  // The child writes into page 1, which the parent reads: a copy to page 2.
  const std::vector<std::int32_t> from_to = {1, 2};
  CopyBlocks copy;
  copy.pairs = 1;
  copy.blocks = shape.pages;
  copy.block_bytes = bytes_of(shape.type, memory.keys.size()) / shape.pages;
  copy.from_to = from_to.data();
  for (Array* half : {&memory.keys, &memory.values}) {
    copy.cache = half->data();
    REQUIRE(backend->launch(copy, nullptr).ok());
  }
  child.pages()[1] = 2;
  --references[1];
  ++references[2];
  const Array child_out = child.run(another);
  // The parent is page 1's only owner now: it writes in place.
  const Array parent_out = parent.run(one_more);
  CHECK(references == std::vector<int>{2, 1, 1, 0});

  for (const auto& [last, out] : {std::pair(&another, &child_out), std::pair(&one_more, &parent_out)}) {
    CacheMemory own(shape);
    CachedSequence alone(*backend, shape, own, {3, 2});
    static_cast<void>(alone.run(shared));
    CHECK(alone.run(*last) == *out);
  }
}
