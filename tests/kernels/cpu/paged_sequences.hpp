// Sequences of known queries, keys and values, put into pages of any size and asked for in any cut.
#pragma once

#include <algorithm>

#include "tests/kernels/cpu/backends.hpp"

namespace servecast::kernels {

struct AttentionShape {
  std::int32_t heads = 6;
  std::int32_t kv_heads = 2;
  std::int32_t head_dim = 64;
  std::int32_t window = 0;

  [[nodiscard]] std::int64_t query_row() const { return std::int64_t{heads} * head_dim; }
};

// A cache in which each of some sequences has its keys and values, on pages in a shuffled order; what no token fills is
// NaN.
class PagedSequences {
 public:
  // Sequence i has lengths[i] tokens; its numbers follow from i alone.
  PagedSequences(const AttentionShape& shape, std::vector<std::int32_t> lengths, std::int32_t page_size)
      : shape_(shape), lengths_(std::move(lengths)) {
    kv_.type = DType::kF32;
    kv_.kv_heads = shape.kv_heads;
    kv_.head_dim = shape.head_dim;
    kv_.page_size = page_size;
    for (const std::int32_t length : lengths_) {
      width_ = std::max(width_, (length + page_size - 1) / page_size);
    }
    kv_.pages = width_ * static_cast<std::int32_t>(lengths_.size()) + 1;
    keys_.assign(static_cast<std::size_t>(kv_.elements()), __builtin_nanf(""));
    values_ = keys_;
    for (std::int32_t i = 0; i < kv_.pages - 1; ++i) table_.push_back((i * 11 + 3) % (kv_.pages - 1));
    if (std::vector<std::int32_t> pages = table_; (std::sort(pages.begin(), pages.end()), pages.size() > 1)) {
      REQUIRE(std::adjacent_find(pages.begin(), pages.end()) == pages.end());  // 11 must not divide the number of pages
    }
    for (std::size_t s = 0; s < lengths_.size(); ++s) fill(s);
    kv_.keys = keys_.data();
    kv_.values = values_.data();
  }

  // Outputs of tokens first[s] … first[s] + count[s] − 1 of each sequence, one after another.
  std::vector<float> prefill(Backend& backend, const std::vector<std::int32_t>& first,
                             const std::vector<std::int32_t>& count) const {
    std::vector<float> queries;
    std::vector<std::int32_t> starts = {0};
    std::vector<SequenceSpan> spans;
    for (std::size_t s = 0; s < lengths_.size(); ++s) {
      append_queries(s, first[s], count[s], queries);
      starts.push_back(starts.back() + count[s]);
      spans.push_back({count[s], first[s]});
    }
    std::vector<float> out(queries.size());
    PrefillAttention op;
    op.type = DType::kF32;
    op.heads = shape_.heads;
    op.window = shape_.window;
    op.scale = 0.125F;
    op.sequences = spans;
    op.query_starts = starts.data();
    op.contexts = first.data();
    op.queries = queries.data();
    op.out = out.data();
    op.kv = kv_;
    op.table = {table_.data(), width_};
    launch(backend, op);
    return out;
  }

  // The same of `tokens` tokens of each, as a draft that is verified; with `tree`, by ancestor masks. Splits are asked
  // for, which a deterministic back end does not do.
  std::vector<float> decode(Backend& backend, const std::vector<std::int32_t>& first, std::int32_t tokens,
                            const std::vector<std::uint64_t>& tree = {}) const {
    std::vector<float> queries;
    std::vector<SequenceSpan> spans;
    for (std::size_t s = 0; s < lengths_.size(); ++s) {
      append_queries(s, first[s], tokens, queries);
      spans.push_back({tokens, first[s]});
    }
    std::vector<float> out(queries.size());
    DecodeAttention op;
    op.type = DType::kF32;
    op.heads = shape_.heads;
    op.tokens = tokens;
    op.window = shape_.window;
    op.splits = 3;
    op.scale = 0.125F;
    op.sequences = spans;
    op.contexts = first.data();
    op.tree = !tree.empty();
    op.ancestors = tree.empty() ? nullptr : tree.data();
    op.queries = queries.data();
    op.out = out.data();
    std::vector<float> workspace(out.size() / static_cast<std::size_t>(shape_.head_dim) * 3 *
                                 static_cast<std::size_t>(shape_.head_dim + 2));
    op.workspace = workspace.data();
    op.kv = kv_;
    op.table = {table_.data(), width_};
    launch(backend, op);
    return out;
  }

  [[nodiscard]] std::vector<float> keys_of(std::size_t sequence) const { return operand(sequence, 1); }
  [[nodiscard]] std::vector<float> values_of(std::size_t sequence) const { return operand(sequence, 2); }
  [[nodiscard]] std::vector<float> queries_of(std::size_t sequence) const {
    std::vector<float> queries;
    append_queries(sequence, 0, lengths_[sequence], queries);
    return queries;
  }

 private:
  [[nodiscard]] std::vector<float> operand(std::size_t sequence, std::uint32_t which) const {
    return numbers(std::int64_t{lengths_[sequence]} * kv_.kv_heads * kv_.head_dim,
                   static_cast<std::uint32_t>(10 * sequence) + which);
  }

  void append_queries(std::size_t sequence, std::int32_t first, std::int32_t count, std::vector<float>& to) const {
    const auto all = numbers(lengths_[sequence] * shape_.query_row(), static_cast<std::uint32_t>(10 * sequence) + 3);
    const auto from = all.begin() + first * shape_.query_row();
    to.insert(to.end(), from, from + count * shape_.query_row());
  }

  void fill(std::size_t sequence) {
    const auto keys = keys_of(sequence);
    const auto values = values_of(sequence);
    std::int64_t from = 0;
    for (std::int64_t position = 0; position < lengths_[sequence]; ++position) {
      const std::int64_t page =
          table_[sequence * static_cast<std::size_t>(width_) + static_cast<std::size_t>(position / kv_.page_size)];
      for (std::int64_t head = 0; head < kv_.kv_heads; ++head, from += kv_.head_dim) {
        const std::int64_t row = (page * kv_.kv_heads + head) * kv_.page_size + position % kv_.page_size;
        std::copy_n(keys.begin() + from, kv_.head_dim, keys_.begin() + row * kv_.head_dim);
        std::copy_n(values.begin() + from, kv_.head_dim, values_.begin() + row * kv_.head_dim);
      }
    }
  }

  AttentionShape shape_;
  std::vector<std::int32_t> lengths_;
  PagedKv kv_;
  std::int32_t width_ = 0;
  std::vector<std::int32_t> table_;
  std::vector<float> keys_;
  std::vector<float> values_;
};

}  // namespace servecast::kernels
