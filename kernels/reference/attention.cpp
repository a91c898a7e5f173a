#include <algorithm>
#include <bit>
#include <cmath>
#include <span>

#include "kernels/reference/operators.hpp"

namespace servecast::kernels {
namespace {

// One head's keys or values of one sequence, position by position.
struct Vectors {
  std::int64_t width = 0;
  std::vector<double> elements;

  [[nodiscard]] const double* at(std::int64_t position) const { return elements.data() + position * width; }
};

std::vector<double> read(DType type, const void* data, std::int64_t first, std::int64_t count) {
  std::vector<double> values(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) values[static_cast<std::size_t>(i)] = load(type, data, first + i);
  return values;
}

enum class Half : std::uint8_t { kKeys, kValues };

Vectors paged(const PagedKv& kv, const std::int32_t* pages, std::int32_t head, std::int64_t length, Half half) {
  const bool keys = half == Half::kKeys;
  const void* data = keys ? kv.keys : kv.values;
  const float* scales = keys ? kv.key_scales : kv.value_scales;
  Vectors vectors{kv.head_dim, {}};
  for (std::int64_t position = 0; position < length; ++position) {
    const std::int64_t page = pages[position / kv.page_size];
    const std::int64_t row = (page * kv.kv_heads + head) * kv.page_size + position % kv.page_size;
    double scale = 1;
    if (kv.type == DType::kInt8) scale = scales[row];
    if (kv.type == DType::kFp8) scale = keys ? kv.key_scale : kv.value_scale;
    for (std::int32_t d = 0; d < kv.head_dim; ++d) {
      vectors.elements.push_back(load(kv.type, data, row * kv.head_dim + d) * scale);
    }
  }
  return vectors;
}

double dot(const double* a, const double* b, std::int64_t count) {
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

// out = softmax(scale · q · Kᵀ) · V over the keys that `sees` lets through; at least one.
template <class Sees>
void attend(std::span<const double> query, const Vectors& keys, const Vectors& values, std::int64_t length,
            double scale, Sees&& sees, double* out, std::int64_t out_width) {
  std::vector<std::int64_t> seen;
  for (std::int64_t j = 0; j < length; ++j) {
    if (sees(j)) seen.push_back(j);
  }
  std::vector<double> weights;
  for (const std::int64_t j : seen) weights.push_back(scale * dot(query.data(), keys.at(j), keys.width));
  const double largest = *std::max_element(weights.begin(), weights.end());
  double sum = 0;
  for (double& weight : weights) sum += weight = std::exp(weight - largest);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const double share = weights[i] / sum;
    const double* value = values.at(seen[i]);
    for (std::int64_t d = 0; d < out_width; ++d) out[d] += share * value[d];
  }
}

// The keys and values of the (sequence, head) asked for last: rows come ordered so that one is asked for often.
template <class Load>
class HeadCache {
 public:
  explicit HeadCache(Load load) : load_(std::move(load)) {}

  const std::pair<Vectors, Vectors>& get(std::int64_t sequence, std::int32_t head) {
    const auto slot = static_cast<std::size_t>(head);
    if (slots_.size() <= slot) slots_.resize(slot + 1, {-1, {}});
    auto& [owner, vectors] = slots_[slot];
    if (owner != sequence) vectors = load_(sequence, head);
    owner = sequence;
    return vectors;
  }

 private:
  Load load_;
  std::vector<std::pair<std::int64_t, std::pair<Vectors, Vectors>>> slots_;
};

// Keys before this position are cut from what a token at `position` sees.
std::int64_t window_start(std::int64_t position, std::int32_t window) {
  return window > 0 ? std::max(std::int64_t{0}, position - window + 1) : 0;
}

// Depth in the tree of new tokens, its own among it: a chain's token i has i + 1.
int depth_of(const DecodeAttention& op, std::int64_t token) {
  return op.tree ? std::popcount(op.ancestors[token]) : static_cast<int>(token) + 1;
}

bool is_ancestor(const DecodeAttention& op, std::int64_t token, std::int64_t other) {
  return op.tree ? ((op.ancestors[token] >> other) & 1U) != 0 : other <= token;
}

}  // namespace

std::vector<Expected> reference_of(const PrefillAttention& op, const RowSample& sample) {
  const std::int32_t group = op.heads / op.kv.kv_heads;
  HeadCache cache([&](std::int64_t s, std::int32_t head) {
    const std::int32_t* pages = op.table.pages + s * op.table.width;
    const std::int64_t length = op.contexts[s] + op.query_starts[s + 1] - op.query_starts[s];
    return std::pair(paged(op.kv, pages, head, length, Half::kKeys), paged(op.kv, pages, head, length, Half::kValues));
  });
  const auto* starts_end = op.query_starts + op.sequences.size() + 1;
  return {by_rows("out", op.tokens() * op.heads, op.kv.head_dim, sample, [&](std::int64_t row, double* out) {
    const std::int64_t token = row / op.heads;
    const std::int64_t s = std::upper_bound(op.query_starts, starts_end, token) - op.query_starts - 1;
    const std::int64_t position = op.contexts[s] + token - op.query_starts[s];
    const auto& [keys, values] = cache.get(s, static_cast<std::int32_t>(row % op.heads) / group);
    const auto query = read(op.type, op.queries, row * op.kv.head_dim, op.kv.head_dim);
    const auto sees = [&](std::int64_t j) { return j >= window_start(position, op.window); };
    attend(query, keys, values, position + 1, op.scale, sees, out, op.kv.head_dim);
  })};
}

std::vector<Expected> reference_of(const DecodeAttention& op, const RowSample& sample) {
  const std::int32_t group = op.heads / op.kv.kv_heads;
  const auto sequences = static_cast<std::int64_t>(op.sequences.size());
  HeadCache cache([&](std::int64_t s, std::int32_t head) {
    const std::int32_t* pages = op.table.pages + s * op.table.width;
    const std::int64_t length = std::int64_t{op.contexts[s]} + op.tokens;
    return std::pair(paged(op.kv, pages, head, length, Half::kKeys), paged(op.kv, pages, head, length, Half::kValues));
  });
  return {by_rows("out", sequences * op.tokens * op.heads, op.kv.head_dim, sample, [&](std::int64_t row, double* out) {
    const std::int64_t token = row / op.heads % op.tokens;
    const std::int64_t s = row / op.heads / op.tokens;
    const std::int64_t context = op.contexts[s];
    const auto& [keys, values] = cache.get(s, static_cast<std::int32_t>(row % op.heads) / group);
    const auto query = read(op.type, op.queries, row * op.kv.head_dim, op.kv.head_dim);
    const std::int64_t start = window_start(context + depth_of(op, token) - 1, op.window);
    const auto sees = [&](std::int64_t j) { return j < context ? j >= start : is_ancestor(op, token, j - context); };
    attend(query, keys, values, context + op.tokens, op.scale, sees, out, op.kv.head_dim);
  })};
}

std::vector<Expected> reference_of(const LatentDecodeAttention& op, const RowSample& sample) {
  const auto sequences = static_cast<std::int64_t>(op.sequences.size());
  const std::int64_t width = op.latent + op.rope;
  HeadCache cache([&](std::int64_t s, std::int32_t) {
    Vectors vectors{width, {}};
    for (std::int64_t position = 0; position < op.contexts[s] + op.tokens; ++position) {
      const std::int64_t page = op.table.pages[s * op.table.width + position / op.page_size];
      const auto row = read(op.type, op.cache, (page * op.page_size + position % op.page_size) * width, width);
      vectors.elements.insert(vectors.elements.end(), row.begin(), row.end());
    }
    return std::pair(vectors, Vectors{});
  });
  return {by_rows("out", sequences * op.tokens * op.heads, op.latent, sample, [&](std::int64_t row, double* out) {
    const std::int64_t s = row / op.heads / op.tokens;
    const std::int64_t length = op.contexts[s] + row / op.heads % op.tokens + 1;
    const Vectors& cached = cache.get(s, 0).first;
    const auto query = read(op.type, op.queries, row * width, width);
    attend(
        query, cached, cached, length, op.scale, [](std::int64_t) { return true; }, out, op.latent);
  })};
}

std::vector<Expected> reference_of(const NaiveAttention& op, const RowSample& sample) {
  const std::int32_t group = op.heads / op.kv_heads;
  HeadCache cache([&](std::int64_t, std::int32_t head) {
    std::pair<Vectors, Vectors> both{{op.head_dim, {}}, {op.head_dim, {}}};
    for (std::int64_t j = 0; j < op.key_tokens; ++j) {
      const std::int64_t first = (j * op.kv_heads + head) * op.head_dim;
      const auto key = read(op.type, op.keys, first, op.head_dim);
      const auto value = read(op.type, op.values, first, op.head_dim);
      both.first.elements.insert(both.first.elements.end(), key.begin(), key.end());
      both.second.elements.insert(both.second.elements.end(), value.begin(), value.end());
    }
    return both;
  });
  const std::int64_t rows = std::int64_t{1} * op.query_tokens * op.heads;
  return {by_rows("out", rows, op.head_dim, sample, [&](std::int64_t row, double* out) {
    const std::int64_t length = op.key_tokens - op.query_tokens + row / op.heads + 1;
    const auto& [keys, values] = cache.get(0, static_cast<std::int32_t>(row % op.heads) / group);
    const auto query = read(op.type, op.queries, row * op.head_dim, op.head_dim);
    attend(
        query, keys, values, length, op.scale, [](std::int64_t) { return true; }, out, op.head_dim);
  })};
}

}  // namespace servecast::kernels
