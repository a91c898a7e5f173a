// One sequence that grows: its tokens are appended to a paged cache and attend to it, as in a model's layer. For back
// ends whose memory is the host's.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstring>
#include <doctest/doctest.h>
#include <vector>

#include "kernels/backend.hpp"
#include "kernels/cases/random.hpp"

namespace servecast::kernels {

struct LayerShape {
  DType type = DType::kF32;
  std::int32_t heads = 8;
  std::int32_t kv_heads = 8;
  std::int32_t head_dim = 16;
  std::int32_t page_size = 16;
  std::int32_t pages = 4;
};

class Array {
 public:
  Array(DType type, std::int64_t elements, std::byte fill = std::byte{0})
      : type_(type), elements_(elements), bytes_(static_cast<std::size_t>(bytes_of(type, elements)), fill) {}

  [[nodiscard]] void* data() { return bytes_.data(); }
  [[nodiscard]] std::int64_t size() const { return elements_; }
  [[nodiscard]] double at(std::int64_t i) const { return load(type_, bytes_.data(), i); }
  void set(std::int64_t i, double value) { store(type_, bytes_.data(), i, value); }
  void fill_normal(Random& random) { fill_random(type_, bytes_, elements_, 0, 1, random); }
  // Elements first … first + count − 1.
  [[nodiscard]] Array part(std::int64_t first, std::int64_t count) const {
    Array copy(type_, count);
    const auto begin = static_cast<std::size_t>(bytes_of(type_, first));
    std::memcpy(copy.bytes_.data(), bytes_.data() + begin, copy.bytes_.size());
    return copy;
  }
  void append(const Array& more) {
    bytes_.insert(bytes_.end(), more.bytes_.begin(), more.bytes_.end());
    elements_ += more.elements_;
  }
  friend bool operator==(const Array& a, const Array& b) { return a.bytes_ == b.bytes_; }

 private:
  DType type_;
  std::int64_t elements_;
  std::vector<std::byte> bytes_;
};

inline double largest_difference(const Array& a, const Array& b) {
  REQUIRE(a.size() == b.size());
  double largest = 0;
  for (std::int64_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a.at(i) - b.at(i)));
  return largest;
}

// Queries, keys and values of some tokens, [tokens][heads][head_dim] each.
struct Tokens {
  Array queries;
  Array keys;
  Array values;
};

inline Tokens random_tokens(const LayerShape& shape, std::int32_t count, std::uint64_t seed) {
  const std::int64_t width = std::int64_t{1} * count * shape.head_dim;
  Tokens tokens{
      {shape.type, width * shape.heads}, {shape.type, width * shape.kv_heads}, {shape.type, width * shape.kv_heads}};
  Random random(seed);
  tokens.queries.fill_normal(random);
  tokens.keys.fill_normal(random);
  tokens.values.fill_normal(random);
  return tokens;
}

inline Tokens part_of(const Tokens& tokens, const LayerShape& shape, std::int64_t first, std::int64_t count) {
  const std::int64_t query = std::int64_t{1} * shape.heads * shape.head_dim;
  const std::int64_t key = std::int64_t{1} * shape.kv_heads * shape.head_dim;
  return {tokens.queries.part(first * query, count * query), tokens.keys.part(first * key, count * key),
          tokens.values.part(first * key, count * key)};
}

// Several sequences may share one.
struct CacheMemory {
  explicit CacheMemory(const LayerShape& shape)
      : keys(shape.type, elements(shape), std::byte{0xFF}), values(shape.type, elements(shape), std::byte{0xFF}) {}

  static std::int64_t elements(const LayerShape& shape) {
    return std::int64_t{1} * shape.pages * shape.kv_heads * shape.page_size * shape.head_dim;
  }
  // Elements that were written since the cache was filled with NaN.
  [[nodiscard]] std::int64_t written() const {
    std::int64_t count = 0;
    for (const Array* half : {&keys, &values}) {
      for (std::int64_t i = 0; i < half->size(); ++i) count += std::isnan(half->at(i)) ? 0 : 1;
    }
    return count;
  }

  Array keys;
  Array values;
};

class CachedSequence {
 public:
  CachedSequence(Backend& backend, const LayerShape& shape, CacheMemory& memory, std::vector<std::int32_t> pages)
      : backend_(&backend), shape_(shape), memory_(&memory), pages_(std::move(pages)) {
    angles_.resize(static_cast<std::size_t>(kPositions * shape.head_dim));
    rope_table(kPositions, shape.head_dim, 10000, angles_.data());
  }

  [[nodiscard]] std::int32_t length() const { return length_; }
  [[nodiscard]] std::vector<std::int32_t>& pages() { return pages_; }
  // Takes over `length` tokens that are in the pages already.
  void adopt(std::int32_t length) { length_ = length; }

  // Appends the tokens to the cache and returns what they see, [tokens][heads][head_dim]: by the decode kernel if it
  // is one, else by the prefill kernel.
  Array run(const Tokens& tokens) {
    Array queries = tokens.queries;
    const auto count = static_cast<std::int32_t>(queries.size() / shape_.heads / shape_.head_dim);
    append(tokens, count, queries);
    Array out(shape_.type, queries.size());
    if (count == 1) {
      decode(queries, out);
    } else {
      prefill(count, queries, out);
    }
    length_ += count;
    return out;
  }

 private:
  static constexpr std::int32_t kPositions = 64;

  [[nodiscard]] PagedKv kv() const {
    PagedKv kv;
    kv.type = shape_.type;
    kv.kv_heads = shape_.kv_heads;
    kv.head_dim = shape_.head_dim;
    kv.page_size = shape_.page_size;
    kv.pages = shape_.pages;
    kv.keys = memory_->keys.data();
    kv.values = memory_->values.data();
    return kv;
  }

  [[nodiscard]] BlockTable table() const { return {pages_.data(), static_cast<std::int32_t>(pages_.size())}; }
  [[nodiscard]] float scale() const { return 1 / std::sqrt(static_cast<float>(shape_.head_dim)); }

  void launch(const Operation& operation) {
    const Status status = backend_->launch(operation, nullptr);
    CHECK_MESSAGE(status.ok(), status.message());
  }

  void append(const Tokens& tokens, std::int32_t count, Array& queries) {
    Tokens copy = tokens;
    std::vector<std::int32_t> positions;
    std::vector<std::int64_t> slots;
    for (std::int32_t i = length_; i < length_ + count; ++i) {
      positions.push_back(i);
      slots.push_back(std::int64_t{pages_[static_cast<std::size_t>(i / shape_.page_size)]} * shape_.page_size +
                      i % shape_.page_size);
    }
    AppendKv op;
    op.type = shape_.type;
    op.tokens = count;
    op.heads = shape_.heads;
    op.rotary = shape_.head_dim;
    op.max_position = kPositions;
    op.cos_sin = angles_.data();
    op.positions = positions.data();
    op.slots = slots.data();
    op.queries = queries.data();
    op.keys = copy.keys.data();
    op.values = copy.values.data();
    op.kv = kv();
    launch(op);
  }

  void prefill(std::int32_t count, Array& queries, Array& out) {
    const std::vector<SequenceSpan> spans = {{count, length_}};
    const std::vector<std::int32_t> starts = {0, count};
    PrefillAttention op;
    op.type = shape_.type;
    op.heads = shape_.heads;
    op.scale = scale();
    op.sequences = spans;
    op.query_starts = starts.data();
    op.contexts = &length_;
    op.queries = queries.data();
    op.out = out.data();
    op.kv = kv();
    op.table = table();
    launch(op);
  }

  void decode(Array& queries, Array& out) {
    const std::vector<SequenceSpan> spans = {{1, length_}};
    DecodeAttention op;
    op.type = shape_.type;
    op.heads = shape_.heads;
    op.scale = scale();
    op.sequences = spans;
    op.contexts = &length_;
    op.queries = queries.data();
    op.out = out.data();
    op.kv = kv();
    op.table = table();
    launch(op);
  }

  Backend* backend_;
  LayerShape shape_;
  CacheMemory* memory_;
  std::vector<std::int32_t> pages_;
  std::vector<float> angles_;
  std::int32_t length_ = 0;
};

}  // namespace servecast::kernels
