#include <algorithm>
#include <limits>

#include "kernels/cpu/attention/keys.hpp"
#include "kernels/cpu/operators.hpp"

namespace servecast::kernels::cpu {
namespace {

constexpr double kLog2E = 1.4426950408889634;

// One head's three passes over its scores, [query_tokens][key_tokens].
class NaiveHead {
 public:
  NaiveHead(const NaiveAttention& op, std::int64_t head, const Micro& micro, float* scratch)
      : op_(op),
        micro_(micro),
        head_(head),
        scores_(op.scores + head * op.query_tokens * op.key_tokens),
        width_(padded(op.head_dim)),
        staging_(scratch),
        row_(scratch + 2 * kTileKeys * width_) {
    keys_.keys = {DType::kF32, op.keys, nullptr, 1, op.head_dim};
    keys_.values = {DType::kF32, op.values, nullptr, 1, op.head_dim};
    keys_.page_size = op.key_tokens;
    keys_.first = head / (op.heads / op.kv_heads);
    keys_.stride = op.kv_heads;
  }

  void write_scores() {
    for (std::int64_t base = 0; base < op_.key_tokens; base += kTileKeys) {
      load_tile(keys_, base, 0, op_.key_tokens, staging_, tile_);
      for (std::int64_t i = first_query(base); i < op_.query_tokens; ++i) score(i, base);
    }
  }

  void soften_scores() {
    for (std::int64_t i = 0; i < op_.query_tokens; ++i) {
      Softmax state{-std::numeric_limits<float>::infinity(), 0};
      float* row = scores_ + i * op_.key_tokens;
      micro_.soften(row, seen(i), state);
      for (std::int64_t j = 0; j < seen(i); ++j) row[j] /= state.sum;
    }
  }

  // Tile by tile into `out`, whose rows are cleared first.
  void mix_values() {
    for (std::int64_t i = 0; i < op_.query_tokens; ++i) std::fill(out(i), out(i) + op_.head_dim, 0.0F);
    for (std::int64_t base = 0; base < op_.key_tokens; base += kTileKeys) {
      load_tile(keys_, base, 0, op_.key_tokens, staging_, tile_);
      for (std::int64_t i = first_query(base); i < op_.query_tokens; ++i) mix(i, base);
    }
  }

 private:
  [[nodiscard]] std::int64_t seen(std::int64_t query) const { return op_.key_tokens - op_.query_tokens + query + 1; }
  // The first query that sees position `base`.
  [[nodiscard]] std::int64_t first_query(std::int64_t base) const {
    return std::max(std::int64_t{0}, base - (op_.key_tokens - op_.query_tokens));
  }
  [[nodiscard]] std::int64_t offset(std::int64_t query) const { return (query * op_.heads + head_) * op_.head_dim; }
  [[nodiscard]] float* out(std::int64_t query) const { return static_cast<float*>(op_.out) + offset(query); }

  void score(std::int64_t query, std::int64_t base) {
    const float* from = static_cast<const float*>(op_.queries) + offset(query);
    std::copy(from, from + op_.head_dim, row_);
    std::fill(row_ + op_.head_dim, row_ + width_, 0.0F);
    alignas(64) float scores[kTileKeys];
    const std::int64_t count = std::min(kTileKeys, seen(query) - base);
    micro_.scores(row_, tile_.keys, padded(count), width_, static_cast<float>(op_.scale * kLog2E), scores);
    std::copy(scores, scores + count, scores_ + query * op_.key_tokens + base);
  }

  void mix(std::int64_t query, std::int64_t base) {
    std::copy(out(query), out(query) + op_.head_dim, row_);
    std::fill(row_ + op_.head_dim, row_ + width_, 0.0F);
    const std::int64_t count = std::min(kTileKeys, seen(query) - base);
    micro_.mix(scores_ + query * op_.key_tokens + base, tile_.values, count, width_, 1, row_);
    std::copy(row_, row_ + op_.head_dim, out(query));
  }

  const NaiveAttention& op_;
  const Micro& micro_;
  std::int64_t head_;
  float* scores_;
  std::int64_t width_;
  float* staging_;
  float* row_;
  HeadKeys keys_;
  KeyTile tile_;
};

static_assert((2 * kTileKeys + 1) * kMaxHeadWidth <= Scratch::kFloats);

}  // namespace

void run(const NaiveAttention& op, Runtime& runtime) {
  runtime.pool().for_each(op.heads, [&](std::int64_t head, std::int32_t thread) {
    NaiveHead naive(op, head, runtime.micro(), runtime.scratch(thread));
    naive.write_scores();
    naive.soften_scores();
    naive.mix_values();
  });
}

}  // namespace servecast::kernels::cpu
