#include "kernels/gpu_check/shape.hpp"

#include <algorithm>

namespace servecast::kernels::gpu_check {
namespace {

struct Totals {
  std::int64_t query = 0;
  std::int64_t context = 0;
  std::int64_t longest = 0;
  double pairs = 0;
};

Totals totals_of(std::span<const SequenceSpan> sequences) {
  Totals totals;
  for (const SequenceSpan& span : sequences) {
    totals.query += span.query;
    totals.context += span.context;
    totals.longest = std::max<std::int64_t>(totals.longest, span.context);
    totals.pairs += double{1} * span.query * span.context + 0.5 * span.query * (span.query + 1.0);
  }
  return totals;
}

void add_sequences(std::span<const SequenceSpan> sequences, JsonObject& object) {
  const Totals totals = totals_of(sequences);
  object.add("sequences", sequences.size()).add("query_tokens", totals.query).add("context_tokens", totals.context);
  object.add("longest_context", totals.longest).add("pairs", totals.pairs);
}

void add_cache(const PagedKv& kv, std::int32_t heads, JsonObject& object) {
  object.add("heads", heads).add("kv_heads", kv.kv_heads).add("head_dim", kv.head_dim);
  object.add("page_size", kv.page_size).add("kv_dtype", name_of(kv.type));
}

void add_shape(const PrefillAttention& op, JsonObject& object) {
  object.add("dtype", name_of(op.type));
  add_cache(op.kv, op.heads, object);
  object.add("window", op.window);
  add_sequences(op.sequences, object);
}

void add_shape(const DecodeAttention& op, JsonObject& object) {
  object.add("dtype", name_of(op.type));
  add_cache(op.kv, op.heads, object);
  object.add("window", op.window).add("tokens", op.tokens).add("splits", op.splits).add("tree", op.tree);
  add_sequences(op.sequences, object);
}

void add_shape(const LatentDecodeAttention& op, JsonObject& object) {
  object.add("dtype", name_of(op.type)).add("heads", op.heads).add("latent", op.latent).add("rope", op.rope);
  object.add("page_size", op.page_size).add("tokens", op.tokens).add("splits", op.splits);
  add_sequences(op.sequences, object);
}

void add_shape(const NaiveAttention& op, JsonObject& object) {
  object.add("dtype", name_of(op.type)).add("heads", op.heads).add("kv_heads", op.kv_heads);
  object.add("head_dim", op.head_dim).add("query_tokens", op.query_tokens).add("key_tokens", op.key_tokens);
}

void add_shape(const AppendKv& op, JsonObject& object) {
  object.add("dtype", name_of(op.type)).add("tokens", op.tokens).add("rotary", op.rotary);
  add_cache(op.kv, op.heads, object);
}

void add_shape(const CopyBlocks& op, JsonObject& object) {
  object.add("dtype", "bytes").add("blocks", op.pairs).add("block_bytes", op.block_bytes);
}

void add_shape(const GatherBlocks& op, JsonObject& object) {
  object.add("dtype", "bytes").add("blocks", op.count).add("block_bytes", op.block_bytes).add("scatter", op.scatter);
}

void add_shape(const RmsNorm& op, JsonObject& object) {
  object.add("dtype", name_of(op.type)).add("rows", op.rows).add("width", op.width).add("residual", op.adds_residual);
}

void add_shape(const Activation& op, JsonObject& object) {
  object.add("dtype", name_of(op.type)).add("rows", op.rows).add("width", op.width).add("gated", op.gated());
}

void add_shape(const Embedding& op, JsonObject& object) {
  object.add("dtype", name_of(op.type)).add("tokens", op.tokens).add("width", op.width);
  object.add("vocabulary", op.vocabulary);
}

void add_shape(const Gemm& op, JsonObject& object) {
  object.add("dtype", name_of(op.type)).add("weight_dtype", name_of(op.weight_type));
  object.add("method", op.method == GemmMethod::kLibrary ? "library" : "own");
  object.add("m", op.m).add("n", op.n).add("k", op.k);
}

void add_shape(const GroupedGemm& op, JsonObject& object) {
  object.add("dtype", name_of(op.type)).add("groups", op.groups).add("rows", op.rows).add("n", op.n).add("k", op.k);
  object.add("gathers", op.gathers);
}

void add_shape(const RouteExperts& op, JsonObject& object) {
  object.add("dtype", "f32").add("tokens", op.tokens).add("experts", op.experts).add("chosen", op.chosen);
}

void add_shape(const CombineExperts& op, JsonObject& object) {
  object.add("dtype", name_of(op.type)).add("tokens", op.tokens).add("chosen", op.chosen).add("width", op.width);
}

void add_shape(const Sample& op, JsonObject& object) {
  object.add("dtype", name_of(op.type)).add("rows", op.rows).add("vocabulary", op.vocabulary);
  object.add("top_k", op.top_k).add("top_p", double{op.top_p}).add("temperature", double{op.temperature});
}

void add_shape(const VerifyDraft& op, JsonObject& object) {
  object.add("dtype", "f32").add("sequences", op.sequences).add("drafted", op.drafted);
  object.add("vocabulary", op.vocabulary);
}

}  // namespace

JsonObject shape_fields(const Operation& operation) {
  JsonObject object;
  object.add("operator", name_of(operation));
  std::visit([&](const auto& op) { add_shape(op, object); }, operation);
  return object;
}

}  // namespace servecast::kernels::gpu_check
