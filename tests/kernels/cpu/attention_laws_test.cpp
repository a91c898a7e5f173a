// What makes a live run repeatable: a token's attention has the same bits however it is computed.
#include <cmath>

#include "tests/kernels/cpu/paged_sequences.hpp"

using namespace servecast::kernels;

namespace {

constexpr std::int32_t kLength = 200;

using Rows = std::vector<float>;

Rows slice(const Rows& rows, const AttentionShape& shape, std::int32_t first, std::int32_t count) {
  const auto from = rows.begin() + first * shape.query_row();
  return {from, from + count * shape.query_row()};
}

// Grouped heads, a width that has to be padded, a window; each with rows from several tiles.
const std::vector<AttentionShape> kShapes = {{6, 2, 64, 0}, {4, 4, 24, 0}, {8, 1, 128, 70}};

template <class Check>
void on_each(Check&& check) {
  for (const auto isa : isas()) {
    for (const AttentionShape& shape : kShapes) {
      CAPTURE(cpu::name_of(isa));
      CAPTURE(shape.head_dim);
      check(*backend_with(isa), shape);
    }
  }
}

Rows whole(Backend& backend, const AttentionShape& shape) {
  return PagedSequences(shape, {kLength}, 16).prefill(backend, {0}, {kLength});
}

}  // namespace

TEST_CASE("a prompt in chunks has the bits of the whole prompt") {
  on_each([](Backend& backend, const AttentionShape& shape) {
    const Rows all = whole(backend, shape);
    const PagedSequences sequence(shape, {kLength}, 16);
    std::int32_t first = 0;
    for (const std::int32_t chunk : {1, 63, 64, 5, 67}) {
      CHECK(sequence.prefill(backend, {first}, {chunk}) == slice(all, shape, first, chunk));
      first += chunk;
    }
    CHECK(first == kLength);
  });
}

TEST_CASE("decode and verification have the bits of prefill") {
  on_each([](Backend& backend, const AttentionShape& shape) {
    const Rows all = whole(backend, shape);
    const PagedSequences sequence(shape, {kLength}, 16);
    for (const std::int32_t context : {0, 1, 62, 63, 64, 127, 150}) {
      CAPTURE(context);
      CHECK(sequence.decode(backend, {context}, 1) == slice(all, shape, context, 1));
      CHECK(sequence.decode(backend, {context}, 6) == slice(all, shape, context, 6));
    }
    CHECK(sequence.decode(backend, {100}, 64) == slice(all, shape, 100, 64));
  });
}

TEST_CASE("a tree that is a chain has the bits of the chain, and a branch those of its path alone") {
  on_each([](Backend& backend, const AttentionShape& shape) {
    const PagedSequences sequence(shape, {kLength}, 16);
    for (const std::int32_t context : {3, 60, 130}) {
      const Rows chain = sequence.decode(backend, {context}, 5);
      CHECK(sequence.decode(backend, {context}, 5, {1, 3, 7, 15, 31}) == chain);
      // Token 2 is a second child of token 0, and token 3 its child; tokens 0 and 1 do not know of them.
      const Rows tree = sequence.decode(backend, {context}, 4, {0b0001, 0b0011, 0b0101, 0b1101});
      CHECK(slice(tree, shape, 0, 2) == slice(chain, shape, 0, 2));
      CHECK(slice(tree, shape, 2, 1) != slice(chain, shape, 2, 1));
    }
  });
}

TEST_CASE("pages and neighbours in the batch change no bit") {
  on_each([](Backend& backend, const AttentionShape& shape) {
    const Rows all = whole(backend, shape);
    for (const std::int32_t page_size : {1, 8, 32, 200}) {
      CHECK(PagedSequences(shape, {kLength}, page_size).prefill(backend, {0}, {kLength}) == all);
    }
    const PagedSequences batch(shape, {kLength, 77, 131}, 8);
    const Rows mixed = batch.prefill(backend, {90, 0, 100}, {20, 77, 1});
    CHECK(slice(mixed, shape, 0, 20) == slice(all, shape, 90, 20));
    const Rows decoded = batch.decode(backend, {150, 70, 128}, 2);
    CHECK(slice(decoded, shape, 0, 2) == slice(all, shape, 150, 2));
  });
}

TEST_CASE("threads change no bit, and splitting keys, which a deterministic back end does not, changes some") {
  for (const AttentionShape& shape : kShapes) {
    const auto alone = backend_with(cpu::best_isa());
    const Rows all = whole(*alone, shape);
    const PagedSequences batch(shape, {kLength, 101}, 8);
    const Rows decoded = batch.decode(*alone, {190, 100}, 1);
    for (const std::int32_t threads : {2, 3}) {
      const auto shared = backend_with(cpu::best_isa(), threads);
      CHECK(whole(*shared, shape) == all);
      CHECK(batch.decode(*shared, {190, 100}, 1) == decoded);
    }
    CHECK(batch.decode(*backend_with(cpu::best_isa(), 1, false), {190, 100}, 1) != decoded);
  }
}

TEST_CASE("online softmax is within 2e-6 of the form that keeps its scores") {
  const AttentionShape shape{6, 2, 64, 0};
  const PagedSequences sequence(shape, {kLength}, 16);
  const auto queries = sequence.queries_of(0);
  const auto keys = sequence.keys_of(0);
  const auto values = sequence.values_of(0);
  Rows out(queries.size());
  Rows scores(static_cast<std::size_t>(shape.heads) * kLength * kLength);
  NaiveAttention naive;
  naive.type = DType::kF32;
  naive.heads = shape.heads;
  naive.kv_heads = shape.kv_heads;
  naive.head_dim = shape.head_dim;
  naive.query_tokens = naive.key_tokens = kLength;
  naive.scale = 0.125F;
  naive.queries = queries.data();
  naive.keys = keys.data();
  naive.values = values.data();
  naive.scores = scores.data();
  naive.out = out.data();
  for (const auto isa : isas()) {
    const auto backend = backend_with(isa);
    launch(*backend, naive);
    const Rows online = whole(*backend, shape);
    double error = 0;
    double norm = 0;
    for (std::size_t i = 0; i < out.size(); ++i) {
      error += std::pow(double{online[i]} - double{out[i]}, 2);
      norm += std::pow(double{out[i]}, 2);
    }
    CHECK(norm > 0);
    CHECK(std::sqrt(error / norm) < 2e-6);
  }
}
