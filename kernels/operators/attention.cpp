#include "kernels/operators/attention.hpp"

#include <algorithm>

#include "kernels/operators/check.hpp"

namespace servecast::kernels {
namespace {

double real(std::int64_t value) { return static_cast<double>(value); }

double bytes(DType type, double elements) { return elements * real(bytes_of(type, 2)) / 2; }

void check_cache(const PagedKv& kv, DType type, Check& check) {
  check.at_least("kv_heads", kv.kv_heads, 1).at_least("head_dim", kv.head_dim, 1);
  check.at_least("page_size", kv.page_size, 1).at_least("pages", kv.pages, 1);
  check.that(kv.type == type || kv.type == DType::kFp8 || kv.type == DType::kInt8,
             "the cache is neither of the queries' type nor fp8 nor int8");
  check.that(kv.type != DType::kFp8 || (kv.key_scale > 0 && kv.value_scale > 0),
             "a scale of the fp8 cache is not positive");
  check.fits("the cache", {kv.pages, kv.kv_heads, kv.page_size, kv.head_dim});
}

void check_heads(std::int32_t heads, std::int32_t kv_heads, Check& check) {
  check.at_least("heads", heads, 1).at_least("kv_heads", kv_heads, 1);
  if (kv_heads > 0) check.that(heads % kv_heads == 0, "heads is no multiple of kv_heads");
}

void check_table(const BlockTable& table, std::span<const SequenceSpan> sequences, std::int32_t page_size,
                 Check& check) {
  check.at_least("the width of the block table", table.width, 1);
  check.fits("the block table", {static_cast<std::int64_t>(sequences.size()), table.width});
  check.sequences(sequences, page_size, table.width);
}

void check_queries(std::span<const SequenceSpan> sequences, std::int32_t tokens, Check& check) {
  check.within("tokens", tokens, 1, 64);
  check.that(std::all_of(sequences.begin(), sequences.end(), [&](const auto& span) { return span.query == tokens; }),
             "a sequence's query is not tokens");
}

// Query-key pairs of a causal chunk, each query's keys cut at the window: costmodel's causal_pairs.
double causal_pairs(const SequenceSpan& span, std::int32_t window) {
  const double n = real(span.query);
  const double c = real(span.context);
  const double w = real(window);
  if (window == 0 || c + n <= w) return n * c + n * (n + 1) / 2;
  if (c >= w) return n * w;
  const double rising = w - c;  // queries whose keys are not cut yet
  return rising * c + rising * (rising + 1) / 2 + (n - rising) * w;
}

double kv_token_bytes(const PagedKv& kv) { return bytes(kv.type, 2 * real(kv.kv_heads) * real(kv.head_dim)); }

}  // namespace

std::int64_t PrefillAttention::tokens() const {
  std::int64_t sum = 0;
  for (const SequenceSpan& span : sequences) sum += span.query;
  return sum;
}

Status validate(const PrefillAttention& op) {
  Check check("prefill_attention");
  check.real("type", op.type).at_least("window", op.window, 0);
  check_heads(op.heads, op.kv.kv_heads, check);
  check_cache(op.kv, op.type, check);
  check_table(op.table, op.sequences, op.kv.page_size, check);
  check.fits("queries", {op.tokens(), op.heads, op.kv.head_dim});
  return check.operands(op);
}

Status validate(const DecodeAttention& op) {
  Check check("decode_attention");
  check.real("type", op.type).at_least("window", op.window, 0).at_least("splits", op.splits, 1);
  check_heads(op.heads, op.kv.kv_heads, check);
  check_cache(op.kv, op.type, check);
  check_table(op.table, op.sequences, op.kv.page_size, check);
  check_queries(op.sequences, op.tokens, check);
  check.that(op.window == 0 || op.window >= op.tokens, "the window is shorter than the new tokens");
  const auto sequences = static_cast<std::int64_t>(op.sequences.size());
  check.fits("queries and partial results",
             {sequences, op.tokens, op.heads, op.splits, op.kv.head_dim + std::int64_t{2}});
  return check.operands(op);
}

Status validate(const LatentDecodeAttention& op) {
  Check check("latent_decode_attention");
  check.real("type", op.type).at_least("heads", op.heads, 1).at_least("splits", op.splits, 1);
  check.at_least("latent", op.latent, 1).at_least("rope", op.rope, 0);
  check.at_least("page_size", op.page_size, 1).at_least("pages", op.pages, 1);
  const std::int64_t width = std::int64_t{op.latent} + op.rope;
  check.fits("the cache", {op.pages, op.page_size, width});
  check_table(op.table, op.sequences, op.page_size, check);
  check_queries(op.sequences, op.tokens, check);
  const auto sequences = static_cast<std::int64_t>(op.sequences.size());
  check.fits("queries and partial results", {sequences, op.tokens, op.heads, op.splits, width + 2});
  return check.operands(op);
}

Status validate(const NaiveAttention& op) {
  Check check("naive_attention");
  check.real("type", op.type).at_least("head_dim", op.head_dim, 1).at_least("query_tokens", op.query_tokens, 1);
  check_heads(op.heads, op.kv_heads, check);
  check.that(op.key_tokens >= op.query_tokens, "there are fewer keys than queries");
  check.fits("queries", {op.query_tokens, op.heads, op.head_dim});
  check.fits("keys", {op.key_tokens, op.kv_heads, op.head_dim});
  check.fits("scores", {op.heads, op.query_tokens, op.key_tokens});
  return check.operands(op);
}

Work work(const PrefillAttention& op) {
  const double width = real(op.heads) * real(op.kv.head_dim);
  const double kv_width = real(op.kv.kv_heads) * real(op.kv.head_dim);
  Work sum;
  for (const SequenceSpan& span : op.sequences) {
    const double kept = real(op.window > 0 ? std::min(op.window, span.context) : span.context);
    sum.flops += 4 * width * causal_pairs(span, op.window);
    // What was just projected is read as an activation is, the context from the cache in its format.
    sum.bytes += bytes(op.type, 2 * real(span.query) * (width + kv_width)) + kv_token_bytes(op.kv) * kept;
  }
  return sum;
}

Work work(const DecodeAttention& op) {
  const double width = real(op.heads) * real(op.kv.head_dim);
  Work sum;
  for (const SequenceSpan& span : op.sequences) {
    const std::int64_t keys = std::int64_t{span.context} + op.tokens;
    const double read = real(op.window > 0 ? std::min(keys, std::int64_t{op.window} + op.tokens - 1) : keys);
    sum.flops += 4 * width * causal_pairs(span, op.window);
    sum.bytes += kv_token_bytes(op.kv) * read + bytes(op.type, 2 * real(op.tokens) * width);
  }
  return sum;
}

Work work(const LatentDecodeAttention& op) {
  const double cached = real(op.latent) + real(op.rope);
  const double heads = real(op.heads);
  Work sum;
  for (const SequenceSpan& span : op.sequences) {
    sum.flops += 2 * heads * (cached + real(op.latent)) * causal_pairs(span, 0);
    sum.bytes += bytes(op.type, cached * (real(span.context) + real(op.tokens)));
    sum.bytes += bytes(op.type, real(op.tokens) * heads * (cached + real(op.latent)));
  }
  return sum;
}

Work work(const NaiveAttention& op) {
  const double width = real(op.heads) * real(op.head_dim);
  const double kv_width = real(op.kv_heads) * real(op.head_dim);
  const double pairs = causal_pairs({op.query_tokens, op.key_tokens - op.query_tokens}, 0);
  const double operands = bytes(op.type, 2 * real(op.query_tokens) * width + 2 * real(op.key_tokens) * kv_width);
  // Scores are written, read by the softmax, written as probabilities and read by the second product.
  return {4 * width * pairs, operands + 4 * bytes(DType::kF32, real(op.heads) * pairs)};
}

std::int32_t splits_for(std::int64_t sequences_and_heads, std::int64_t longest_context, std::int32_t processors) {
  if (sequences_and_heads >= processors || sequences_and_heads < 1) return 1;
  const std::int64_t filling = ceil_div(processors, sequences_and_heads);
  return static_cast<std::int32_t>(std::max(std::int64_t{1}, std::min(filling, longest_context / 64)));
}

}  // namespace servecast::kernels
