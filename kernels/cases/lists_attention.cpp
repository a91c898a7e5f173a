#include <algorithm>
#include <cmath>

#include "kernels/cases/lists_parts.hpp"

namespace servecast::kernels {
namespace {

using Sequences = std::vector<SequenceSpan>;

constexpr std::array<std::int32_t, 5> kGroups = {1, 4, 6, 7, 8};
constexpr std::array<std::int32_t, 3> kPageSizes = {8, 16, 32};

std::vector<std::int32_t> head_dims(CaseSet set) {
  if (set == CaseSet::kCuda75) return {64, 128};
  return {64, 128, 256};
}

float scale_of(std::int32_t width) { return 1 / std::sqrt(static_cast<float>(width)); }

PagedKv cache(DType type, std::int32_t kv_heads, std::int32_t head_dim, std::int32_t page_size) {
  PagedKv kv;
  kv.type = type;
  kv.kv_heads = kv_heads;
  kv.head_dim = head_dim;
  kv.page_size = page_size;
  if (type == DType::kFp8) {
    kv.key_scale = 0.03F;
    kv.value_scale = 0.05F;
  }
  return kv;
}

// Multiply-adds of tiles of 64 × 64, which the emulator pays for.
double tile_work(const Sequences& sequences, std::int32_t head_dim) {
  double pairs = 0;
  for (const SequenceSpan& span : sequences) {
    pairs +=
        static_cast<double>(ceil_div(span.query, 64) * ceil_div(span.query + std::int64_t{span.context}, 64)) * 4096;
  }
  return pairs * head_dim;
}

void append_prefill(CaseSet set, std::vector<CaseShape>& list) {
  const auto types = real_types(set);
  const auto caches = cache_types(set);
  const auto dims = head_dims(set);
  const std::vector<Sequences> lengths = {{{63, 0}, {2, 0}},
                                          {{64, 0}, {1, 0}},
                                          {{65, 0}, {3, 29}},
                                          {{127, 0}},
                                          {{129, 0}},
                                          {{33, 95}, {1, 64}},
                                          {{17, 190}, {1, 300}, {16, 0}},
                                          {{70, 700}, {5, 0}}};
  const std::array<std::int32_t, 3> windows = {0, 24, 100};
  const auto build = [&](Levels at) -> Built {
    PrefillAttention op;
    op.type = at.next(types);
    const DType kv_type = cache_type(at.next(caches), op.type);
    const std::int32_t dim = at.next(dims);
    const std::int32_t group = at.next(kGroups);
    const std::int32_t page_size = at.next(kPageSizes);
    const Sequences sequences = at.next(lengths);
    op.window = at.next(windows);
    // As many heads as stay quick; more than one wherever possible, so that a wrong one shows.
    const double one = tile_work(sequences, dim) * group;
    const std::int32_t kv_heads = one < 4e6 ? 3 : one < 1.2e7 ? 2 : 1;
    op.heads = group * kv_heads;
    op.scale = scale_of(dim);
    op.kv = cache(kv_type, kv_heads, dim, page_size);
    return Built({op, sequences});
  };
  append_cover({count_of(types), count_of(caches), count_of(dims), count_of(kGroups), count_of(kPageSizes),
                count_of(lengths), count_of(windows)},
               build, list);
}

struct NewTokens {
  std::int32_t count;
  bool tree;
};

Sequences decode_sequences(const std::vector<std::int32_t>& contexts, std::int32_t tokens) {
  Sequences sequences;
  for (const std::int32_t context : contexts) sequences.push_back({tokens, context});
  return sequences;
}

void append_decode(CaseSet set, std::vector<CaseShape>& list) {
  const auto types = real_types(set);
  const auto caches = cache_types(set);
  const auto dims = head_dims(set);
  const std::vector<NewTokens> tokens = {{1, false}, {3, false}, {4, true}, {9, true}, {40, true}};
  const std::vector<std::vector<std::int32_t>> contexts = {{0},       {63, 1},      {64}, {65, 15, 16, 17},
                                                           {1030, 7}, {300, 1, 127}};
  const std::array<std::int32_t, 3> splits = {1, 2, 5};
  const std::array<std::int32_t, 3> windows = {0, 41, 100};
  const auto build = [&](Levels at) -> Built {
    DecodeAttention op;
    op.type = at.next(types);
    const DType kv_type = cache_type(at.next(caches), op.type);
    const std::int32_t dim = at.next(dims);
    const std::int32_t group = at.next(kGroups);
    const std::int32_t page_size = at.next(kPageSizes);
    const NewTokens fresh = at.next(tokens);
    const Sequences sequences = decode_sequences(at.next(contexts), fresh.count);
    op.splits = at.next(splits);
    op.window = at.next(windows);
    op.tokens = fresh.count;
    op.tree = fresh.tree;
    op.heads = 2 * group;
    op.scale = scale_of(dim);
    op.kv = cache(kv_type, 2, dim, page_size);
    return Built({op, sequences});
  };
  append_cover({count_of(types), count_of(caches), count_of(dims), count_of(kGroups), count_of(kPageSizes),
                count_of(tokens), count_of(contexts), count_of(splits), count_of(windows)},
               build, list);
}

void append_latent(CaseSet set, std::vector<CaseShape>& list) {
  if (set == CaseSet::kCuda75) return;
  const auto types = real_types(set);
  const std::array<std::int32_t, 3> heads = {8, 16, 40};
  const std::array<std::int32_t, 3> tokens = {1, 2, 4};
  const std::vector<std::vector<std::int32_t>> contexts = {{0}, {63, 2}, {64, 65}, {150, 16}};
  const std::array<std::int32_t, 2> splits = {1, 3};
  const auto build = [&](Levels at) -> Built {
    LatentDecodeAttention op;
    op.type = at.next(types);
    op.heads = at.next(heads);
    op.tokens = at.next(tokens);
    const Sequences sequences = decode_sequences(at.next(contexts), op.tokens);
    op.splits = at.next(splits);
    op.page_size = at.next(kPageSizes);
    op.scale = scale_of(192);  // of DeepSeek's heads before absorption: 128 + 64
    return Built({op, sequences});
  };
  append_cover(
      {count_of(types), count_of(heads), count_of(tokens), count_of(contexts), count_of(splits), count_of(kPageSizes)},
      build, list);
}

void append_naive(CaseSet set, std::vector<CaseShape>& list) {
  const auto types = real_types(set);
  const std::vector<std::pair<std::int32_t, std::int32_t>> heads = {{4, 2}, {3, 3}, {7, 1}};
  const std::array<std::int32_t, 2> dims = {64, 128};
  const std::vector<std::pair<std::int32_t, std::int32_t>> lengths = {{1, 1}, {17, 17}, {33, 100}, {64, 65}, {1, 129}};
  const auto build = [&](Levels at) -> Built {
    NaiveAttention op;
    op.type = at.next(types);
    std::tie(op.heads, op.kv_heads) = at.next(heads);
    op.head_dim = at.next(dims);
    std::tie(op.query_tokens, op.key_tokens) = at.next(lengths);
    op.scale = scale_of(op.head_dim);
    return Built({op, {}});
  };
  append_cover({count_of(types), count_of(heads), count_of(dims), count_of(lengths)}, build, list);
}

}  // namespace

void append_attention_shapes(CaseSet set, std::vector<CaseShape>& list) {
  append_prefill(set, list);
  append_decode(set, list);
  append_latent(set, list);
  append_naive(set, list);
}

}  // namespace servecast::kernels
