// Attention over a paged KV cache: prefill of ragged batches, decode and verification, MLA's absorbed decode, and the
// naive form that materialises its scores.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/operators/operator.hpp"

namespace servecast::kernels {

// Keys and values in pages: [pages][kv_heads][page_size][head_dim] each, so that one head's tokens of one page are
// contiguous. int8 has one scale per token and head, [pages][kv_heads][page_size]; fp8 one scale per cache; a stored
// value times its scale is the real one.
struct PagedKv {
  DType type = DType::kBf16;  // f32, f16, bf16, fp8 or int8
  std::int32_t kv_heads = 1;
  std::int32_t head_dim = 128;
  std::int32_t page_size = 16;
  std::int32_t pages = 0;
  void* keys = nullptr;
  void* values = nullptr;
  float* key_scales = nullptr;    // int8 only
  float* value_scales = nullptr;  // int8 only
  float key_scale = 1;            // fp8 only
  float value_scale = 1;          // fp8 only

  [[nodiscard]] std::int64_t elements() const { return std::int64_t{1} * pages * kv_heads * page_size * head_dim; }
  [[nodiscard]] std::int64_t scales() const {
    return type == DType::kInt8 ? std::int64_t{1} * pages * kv_heads * page_size : 0;
  }
};

// Which pages a sequence has, in order: [sequences][width] page numbers. Entries behind a sequence's last page are
// never read.
struct BlockTable {
  const std::int32_t* pages = nullptr;
  std::int32_t width = 0;
};

// Causal attention of whole or chunked prompts. Query i of a sequence sees keys 0 … context + i, the last `window`
// of them if there is one. Needs head_dim 64, 128 or 256 on CUDA.
struct PrefillAttention {
  DType type = DType::kBf16;                   // of queries and outputs
  std::int32_t heads = 1;                      // a multiple of kv.kv_heads
  std::int32_t window = 0;                     // tokens seen, the query's own among them; 0: all
  float scale = 1;                             // of the scores, mostly 1/√head_dim
  std::span<const SequenceSpan> sequences;     // on the host; at least one, each query ≥ 1
  const std::int32_t* query_starts = nullptr;  // [sequences + 1]: where each one's queries begin in `queries`
  const std::int32_t* contexts = nullptr;      // [sequences]
  const void* queries = nullptr;               // [tokens][heads][head_dim]
  void* out = nullptr;                         // as queries
  PagedKv kv;
  BlockTable table;

  [[nodiscard]] std::int64_t tokens() const;
};

// Attention of `tokens` new tokens a sequence: 1 decodes, more verify a draft. New token i sees the whole context and
// those new tokens j whose bit is set in ancestors[i] (its own among them); without ancestors, tokens form a chain.
// The context is cut at `window`, counted back from the position context + (ancestors of i) − 1; a window holds all
// new tokens at least, so that it never cuts among them.
// Keys are split over `splits` blocks a sequence and head; a second launch combines them.
struct DecodeAttention {
  DType type = DType::kBf16;
  std::int32_t heads = 1;
  std::int32_t tokens = 1;  // 1 … 64, the same for all sequences
  std::int32_t window = 0;
  std::int32_t splits = 1;
  float scale = 1;
  std::span<const SequenceSpan> sequences;   // on the host; each query == tokens
  const std::int32_t* contexts = nullptr;    // [sequences]
  const std::uint64_t* ancestors = nullptr;  // [tokens], or null: a chain
  const void* queries = nullptr;             // [sequences][tokens][heads][head_dim]
  void* out = nullptr;                       // as queries
  float* workspace = nullptr;                // partial outputs, maxima and sums; see for_each_buffer
  PagedKv kv;
  BlockTable table;
  bool tree = false;  // whether there are ancestors: the shape says so, not the pointer
};

// Decode with multi-head latent attention, weights absorbed: all heads share one cached vector of latent + rope
// elements a token; scores use all of it, outputs the latent part. Cache: [pages][page_size][latent + rope].
struct LatentDecodeAttention {
  DType type = DType::kBf16;  // of everything
  std::int32_t heads = 16;
  std::int32_t latent = 512;
  std::int32_t rope = 64;
  std::int32_t tokens = 1;  // new tokens a sequence, a chain
  std::int32_t splits = 1;
  std::int32_t page_size = 16;
  std::int32_t pages = 0;
  float scale = 1;
  std::span<const SequenceSpan> sequences;
  const std::int32_t* contexts = nullptr;  // [sequences]
  const void* queries = nullptr;           // [sequences][tokens][heads][latent + rope]
  void* out = nullptr;                     // [sequences][tokens][heads][latent]
  float* workspace = nullptr;
  const void* cache = nullptr;
  BlockTable table;
};

// Prefill attention the textbook way: all scores are written, soft-maxed and read again. One sequence, no window.
struct NaiveAttention {
  DType type = DType::kBf16;
  std::int32_t heads = 1;
  std::int32_t kv_heads = 1;
  std::int32_t head_dim = 128;
  std::int32_t query_tokens = 1;
  std::int32_t key_tokens = 1;  // query i sees keys 0 … key_tokens − query_tokens + i
  float scale = 1;
  const void* queries = nullptr;  // [query_tokens][heads][head_dim]
  const void* keys = nullptr;     // [key_tokens][kv_heads][head_dim]
  const void* values = nullptr;   // as keys
  float* scores = nullptr;        // workspace: [heads][query_tokens][key_tokens]
  void* out = nullptr;            // as queries
};

[[nodiscard]] Status validate(const PrefillAttention& op);
[[nodiscard]] Status validate(const DecodeAttention& op);
[[nodiscard]] Status validate(const LatentDecodeAttention& op);
[[nodiscard]] Status validate(const NaiveAttention& op);

[[nodiscard]] Work work(const PrefillAttention& op);
[[nodiscard]] Work work(const DecodeAttention& op);  // a tree counts as a chain: ancestors lie on the device
[[nodiscard]] Work work(const LatentDecodeAttention& op);
[[nodiscard]] Work work(const NaiveAttention& op);  // the scores' traffic included: it is what the form costs

// Splits that fill `processors` with blocks without leaving one fewer than 64 keys; 1 where the batch alone does.
[[nodiscard]] std::int32_t splits_for(std::int64_t sequences_and_heads, std::int64_t longest_context,
                                      std::int32_t processors);

template <class Visit>
void for_each_buffer(PagedKv& kv, Role role, Visit&& visit) {
  visit(Buffer{"keys", role, kv.type, kv.elements()}, kv.keys);
  visit(Buffer{"values", role, kv.type, kv.elements()}, kv.values);
  visit(Buffer{"key_scales", role, DType::kF32, kv.scales()}, kv.key_scales);
  visit(Buffer{"value_scales", role, DType::kF32, kv.scales()}, kv.value_scales);
}

template <class Visit>
void for_each_buffer(PrefillAttention& op, Visit&& visit) {
  const auto sequences = static_cast<std::int64_t>(op.sequences.size());
  const std::int64_t queries = op.tokens() * op.heads * op.kv.head_dim;
  visit(Buffer{"query_starts", Role::kInput, DType::kI32, sequences + 1}, op.query_starts);
  visit(Buffer{"contexts", Role::kInput, DType::kI32, sequences}, op.contexts);
  visit(Buffer{"queries", Role::kInput, op.type, queries}, op.queries);
  for_each_buffer(op.kv, Role::kInput, visit);
  visit(Buffer{"block_table", Role::kInput, DType::kI32, sequences * op.table.width}, op.table.pages);
  visit(Buffer{"out", Role::kOutput, op.type, queries}, op.out);
}

template <class Visit>
void for_each_buffer(DecodeAttention& op, Visit&& visit) {
  const auto sequences = static_cast<std::int64_t>(op.sequences.size());
  const std::int64_t rows = sequences * op.tokens * op.heads;
  visit(Buffer{"contexts", Role::kInput, DType::kI32, sequences}, op.contexts);
  visit(Buffer{"ancestors", Role::kInput, DType::kI64, op.tree ? op.tokens : 0}, op.ancestors);
  visit(Buffer{"queries", Role::kInput, op.type, rows * op.kv.head_dim}, op.queries);
  for_each_buffer(op.kv, Role::kInput, visit);
  visit(Buffer{"block_table", Role::kInput, DType::kI32, sequences * op.table.width}, op.table.pages);
  visit(Buffer{"workspace", Role::kWorkspace, DType::kF32, op.splits > 1 ? rows * op.splits * (op.kv.head_dim + 2) : 0},
        op.workspace);
  visit(Buffer{"out", Role::kOutput, op.type, rows * op.kv.head_dim}, op.out);
}

template <class Visit>
void for_each_buffer(LatentDecodeAttention& op, Visit&& visit) {
  const auto sequences = static_cast<std::int64_t>(op.sequences.size());
  const std::int64_t rows = sequences * op.tokens * op.heads;
  const std::int64_t width = op.latent + op.rope;
  visit(Buffer{"contexts", Role::kInput, DType::kI32, sequences}, op.contexts);
  visit(Buffer{"queries", Role::kInput, op.type, rows * width}, op.queries);
  visit(Buffer{"cache", Role::kInput, op.type, width * op.pages * op.page_size}, op.cache);
  visit(Buffer{"block_table", Role::kInput, DType::kI32, sequences * op.table.width}, op.table.pages);
  visit(Buffer{"workspace", Role::kWorkspace, DType::kF32, op.splits > 1 ? rows * op.splits * (op.latent + 2) : 0},
        op.workspace);
  visit(Buffer{"out", Role::kOutput, op.type, rows * op.latent}, op.out);
}

template <class Visit>
void for_each_buffer(NaiveAttention& op, Visit&& visit) {
  const std::int64_t queries = std::int64_t{1} * op.query_tokens * op.heads * op.head_dim;
  const std::int64_t keys = std::int64_t{1} * op.key_tokens * op.kv_heads * op.head_dim;
  visit(Buffer{"queries", Role::kInput, op.type, queries}, op.queries);
  visit(Buffer{"keys", Role::kInput, op.type, keys}, op.keys);
  visit(Buffer{"values", Role::kInput, op.type, keys}, op.values);
  visit(Buffer{"scores", Role::kWorkspace, DType::kF32, std::int64_t{1} * op.heads * op.query_tokens * op.key_tokens},
        op.scores);
  visit(Buffer{"out", Role::kOutput, op.type, queries}, op.out);
}

}  // namespace servecast::kernels
