#include <algorithm>
#include <cstring>

#include "kernels/cases/inputs.hpp"

namespace servecast::kernels {
namespace {

// Scores with a deviation of 1.5 at scale 1/√head_dim: maxima move from tile to tile, and no key decides alone.
constexpr double kQueryDeviation = 1.5;

// Pages that no sequence has: full of NaN, they stand behind the last page of each row of a table.
constexpr std::int32_t kSparePages = 2;

struct Pages {
  std::int32_t in_use = 0;
  std::int32_t width = 1;
};

Pages pages_of(std::span<const SequenceSpan> sequences, std::int32_t page_size) {
  Pages pages;
  for (const SequenceSpan& span : sequences) {
    const auto own = static_cast<std::int32_t>(ceil_div(std::int64_t{span.context} + span.query, page_size));
    pages.in_use += own;
    pages.width = std::max(pages.width, own + 1);
  }
  return pages;
}

// Gives every sequence pages from all over the cache. Returns how many slots of each page are in use.
std::vector<std::int32_t> draw_table(std::span<const SequenceSpan> sequences, std::int32_t page_size,
                                     std::int32_t pages, std::int32_t width, const Inputs& inputs) {
  const std::vector<std::int32_t> order = inputs.random().permutation(pages);
  const std::span<std::int32_t> table = inputs.of<std::int32_t>("block_table");
  std::vector<std::int32_t> used(static_cast<std::size_t>(pages), 0);
  std::fill(table.begin(), table.end(), order.back());
  std::size_t next = 0;
  for (std::size_t s = 0; s < sequences.size(); ++s) {
    const std::int32_t length = sequences[s].context + sequences[s].query;
    for (std::int32_t first = 0; first < length; first += page_size) {
      const std::int32_t page = order[next++];
      table[s * static_cast<std::size_t>(width) + static_cast<std::size_t>(first / page_size)] = page;
      used[static_cast<std::size_t>(page)] = std::min(page_size, length - first);
    }
  }
  return used;
}

// Overwrites what no sequence has with NaN: `row_bytes` each, [pages][heads][page_size] of them.
void poison_unused(std::span<std::byte> bytes, std::span<const std::int32_t> used, std::int32_t heads,
                   std::int32_t page_size, std::int64_t row_bytes) {
  if (bytes.empty()) return;
  for (std::size_t page = 0; page < used.size(); ++page) {
    for (std::int32_t head = 0; head < heads; ++head) {
      const std::int64_t block = (static_cast<std::int64_t>(page) * heads + head) * page_size;
      std::memset(bytes.data() + (block + used[page]) * row_bytes, 0xFF,
                  static_cast<std::size_t>((page_size - used[page]) * row_bytes));
    }
  }
}

void draw_cache(const PagedKv& kv, std::span<const std::int32_t> used, const Inputs& inputs) {
  if (kv.type == DType::kFp8) {
    inputs.normal("keys", 0, 1 / double{kv.key_scale});
    inputs.normal("values", 0, 1 / double{kv.value_scale});
  }
  inputs.uniform("key_scales", 0.5 / 64, 1.5 / 64);
  inputs.uniform("value_scales", 0.5 / 64, 1.5 / 64);
  for (const std::string_view half : {"keys", "values"}) {
    poison_unused(inputs.operand(half).bytes, used, kv.kv_heads, kv.page_size, bytes_of(kv.type, kv.head_dim));
  }
  for (const std::string_view half : {"key_scales", "value_scales"}) {
    poison_unused(inputs.operand(half).bytes, used, kv.kv_heads, kv.page_size, bytes_of(DType::kF32, 1));
  }
}

void draw_contexts(std::span<const SequenceSpan> sequences, const Inputs& inputs) {
  const std::span<std::int32_t> contexts = inputs.of<std::int32_t>("contexts");
  std::transform(sequences.begin(), sequences.end(), contexts.begin(), [](const auto& span) { return span.context; });
}

// Each token hangs below one drawn before it, or below the context.
void draw_tree(const Inputs& inputs) {
  const std::span<std::uint64_t> ancestors = inputs.of<std::uint64_t>("ancestors");
  for (std::size_t i = 0; i < ancestors.size(); ++i) {
    const auto parent = static_cast<std::size_t>(inputs.random().below(static_cast<std::int64_t>(i) + 1));
    ancestors[i] = (std::uint64_t{1} << i) | (parent < i ? ancestors[parent] : 0);
  }
}

}  // namespace

void complete(PrefillAttention& op) {
  const Pages pages = pages_of(op.sequences, op.kv.page_size);
  op.kv.pages = pages.in_use + kSparePages;
  op.table.width = pages.width;
}

void complete(DecodeAttention& op) {
  const Pages pages = pages_of(op.sequences, op.kv.page_size);
  op.kv.pages = pages.in_use + kSparePages;
  op.table.width = pages.width;
}

void complete(LatentDecodeAttention& op) {
  const Pages pages = pages_of(op.sequences, op.page_size);
  op.pages = pages.in_use + kSparePages;
  op.table.width = pages.width;
}

void draw(const PrefillAttention& op, const Inputs& inputs) {
  const auto used = draw_table(op.sequences, op.kv.page_size, op.kv.pages, op.table.width, inputs);
  draw_cache(op.kv, used, inputs);
  draw_contexts(op.sequences, inputs);
  const std::span<std::int32_t> starts = inputs.of<std::int32_t>("query_starts");
  for (std::size_t s = 0; s < op.sequences.size(); ++s) starts[s + 1] = starts[s] + op.sequences[s].query;
  inputs.normal("queries", 0, kQueryDeviation);
}

void draw(const DecodeAttention& op, const Inputs& inputs) {
  const auto used = draw_table(op.sequences, op.kv.page_size, op.kv.pages, op.table.width, inputs);
  draw_cache(op.kv, used, inputs);
  draw_contexts(op.sequences, inputs);
  draw_tree(inputs);
  inputs.normal("queries", 0, kQueryDeviation);
}

void draw(const LatentDecodeAttention& op, const Inputs& inputs) {
  const auto used = draw_table(op.sequences, op.page_size, op.pages, op.table.width, inputs);
  poison_unused(inputs.operand("cache").bytes, used, 1, op.page_size,
                bytes_of(op.type, std::int64_t{op.latent} + op.rope));
  draw_contexts(op.sequences, inputs);
  inputs.normal("queries", 0, kQueryDeviation);
}

void draw(const NaiveAttention&, const Inputs& inputs) { inputs.normal("queries", 0, kQueryDeviation); }

}  // namespace servecast::kernels
