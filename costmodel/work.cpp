#include "costmodel/work.hpp"

#include <algorithm>
#include <cmath>

namespace servecast {
namespace {

double real(std::int64_t value) { return static_cast<double>(value); }

}  // namespace

Work& Work::operator+=(const Work& other) {
  flops += other.flops;
  weight_bytes += other.weight_bytes;
  kv_bytes += other.kv_bytes;
  activation_bytes += other.activation_bytes;
  link_bytes += other.link_bytes;
  return *this;
}

Work operator*(const Work& work, double times) {
  return {work.flops * times, work.weight_bytes * times, work.kv_bytes * times, work.activation_bytes * times,
          work.link_bytes * times};
}

double expected_experts(const Experts& experts, std::int64_t tokens) {
  const double share = real(experts.per_token) / real(experts.all());
  return real(experts.count) * (1 - std::pow(1 - share, real(tokens)));
}

double share_of_tokens(const Experts& experts) {
  double none = 1;
  for (std::int64_t i = 0; i < experts.per_token; ++i) {
    none *= std::max(0.0, real(experts.all() - experts.count - i)) / real(experts.all() - i);
  }
  return 1 - none;
}

double expected_imbalance(double assignments, std::int64_t ranks) {
  if (ranks == 1 || assignments <= 0) return 1;
  const double r = real(ranks);
  const double mean = assignments / r;
  const double largest = 1 + std::sqrt(2 * (1 - 1 / r) * std::log(r) / mean);
  return std::min(std::max(largest, std::min(1.0, assignments) / mean), r);
}

double causal_pairs(const PrefillChunk& chunk, const std::optional<Tokens>& window) {
  const double n = real(chunk.tokens.count());
  const double c = real(chunk.context.count());
  const double all = n * c + n * (n + 1) / 2;
  if (!window) return all;
  const double w = real(window->count());
  if (c + n <= w) return all;
  if (c >= w) return n * w;
  const double rising = w - c;  // tokens whose keys are not cut yet
  return rising * c + rising * (rising + 1) / 2 + (n - rising) * w;
}

StepWork::StepWork(const ModelShape& model, const Dtypes& dtypes, const Sharding& sharding)
    : shard_(servecast::shard(model, sharding)),
      dtypes_(dtypes),
      sharding_(sharding),
      activation_bytes_(bytes_per_element(dtypes.activations)) {
  for (std::size_t kind = 0; kind < shard_.attentions.size(); ++kind) kinds_.push_back(attention_kind(kind));
}

StepWork::AttentionKind StepWork::attention_kind(std::size_t kind) const {
  const Attention& part = shard_.attentions[kind];
  const double heads = real(part.query_heads);
  const double key = real(part.head_dim);
  AttentionKind cost{};
  cost.window = part.window;
  cost.layers = real(shard_.layers_with_attention(kind));
  cost.kv_bytes_per_token = real(kv_bits_per_token(part, dtypes_.kv)) / 8;
  if (part.latent) {
    const LatentAttention& latent = *part.latent;
    const double value = real(latent.value_dim);
    const double rank = real(latent.kv_rank);
    cost.prefill_flops_per_pair = 2 * heads * (key + value);
    cost.prefill_flops_per_context = 2 * rank * heads * (real(latent.nope_dim) + value);
    cost.decode_flops_per_key = 2 * heads * (2 * rank + real(latent.rope_dim));  // scores and values in the latent
    cost.prefill_bytes_per_token = 2 * activation_bytes_ * heads * (key + value);
    cost.decode_bytes_per_token = activation_bytes_ * heads * (2 * rank + real(latent.rope_dim));
    cost.rows_per_sequence = 1;
  } else {
    cost.prefill_flops_per_pair = 4 * heads * key;
    cost.decode_flops_per_key = 4 * heads * key;
    cost.decode_bytes_per_token = 2 * activation_bytes_ * heads * key;
    cost.prefill_bytes_per_token = cost.decode_bytes_per_token + 2 * activation_bytes_ * real(part.kv_heads) * key;
    cost.rows_per_sequence = real(part.kv_heads);
  }
  return cost;
}

Operator StepWork::gemm(std::string_view name, DType weights, double layers, double tokens, double in,
                        double out) const {
  Operator op;
  op.name = name;
  op.family = OperatorFamily::kGemm;
  op.operands = weights;
  op.times = layers;
  op.work.flops = 2 * tokens * in * out;
  op.work.weight_bytes = in * out * bytes_per_element(weights);
  op.work.activation_bytes = tokens * (in + out) * activation_bytes_;
  return op;
}

Operator StepWork::elementwise(std::string_view name, double times, double activation_elements) const {
  Operator op;
  op.name = name;
  op.operands = dtypes_.activations;
  op.times = times;
  op.work.activation_bytes = activation_elements * activation_bytes_;
  return op;
}

Operator StepWork::link(std::string_view name, Collective collective, double times, double message_bytes,
                        double sent_bytes) const {
  Operator op = elementwise(name, times, 0);
  op.family = OperatorFamily::kLink;
  op.collective = collective;
  op.message_bytes = message_bytes;
  op.work.link_bytes = sent_bytes;
  return op;
}

void StepWork::append_latent_projections(const Attention& part, double layers, double tokens,
                                         std::vector<Operator>& list) const {
  const LatentAttention& latent = *part.latent;
  const double hidden = real(shard_.hidden);
  const double queries = real(part.query_heads * part.head_dim);
  if (latent.query_rank > 0) {
    list.push_back(gemm("query_down", dtypes_.weights, layers, tokens, hidden, real(latent.query_rank)));
    list.push_back(gemm("query_up", dtypes_.weights, layers, tokens, real(latent.query_rank), queries));
  } else {
    list.push_back(gemm("query_projection", dtypes_.weights, layers, tokens, hidden, queries));
  }
  list.push_back(gemm("kv_down", dtypes_.weights, layers, tokens, hidden, real(latent.kv_rank + latent.rope_dim)));
  list.back().work.weight_bytes += real(part.vectors) * activation_bytes_;
  // In decode the same products absorb the expansion into queries and outputs.
  const double expanded = real(part.query_heads * (latent.nope_dim + latent.value_dim));
  list.push_back(gemm("kv_up", dtypes_.weights, layers, tokens, real(latent.kv_rank), expanded));
}

void StepWork::append_attention_projections(std::size_t kind, double tokens, std::vector<Operator>& list) const {
  const Attention& part = shard_.attentions[kind];
  const double layers = kinds_[kind].layers;
  const double hidden = real(shard_.hidden);
  if (part.latent) {
    append_latent_projections(part, layers, tokens, list);
  } else {
    const std::int64_t heads = part.query_heads + (part.projects_values ? 2 : 1) * part.kv_heads;
    list.push_back(gemm("qkv_projection", dtypes_.weights, layers, tokens, hidden, real(heads * part.head_dim)));
    list.back().work.weight_bytes += real(part.vectors) * activation_bytes_;
  }
  const std::int64_t rotated =
      part.latent ? (part.query_heads + 1) * part.latent->rope_dim : (part.query_heads + part.kv_heads) * part.head_dim;
  list.push_back(elementwise("rope_and_kv_write", layers, 2 * tokens * real(rotated)));
  list.back().work.kv_bytes = tokens * kinds_[kind].kv_bytes_per_token;
  const std::int64_t value = part.latent ? part.latent->value_dim : part.head_dim;
  list.push_back(gemm("output_projection", dtypes_.weights, layers, tokens, real(part.query_heads * value), hidden));
}

void StepWork::append_mlp(std::string_view up, std::string_view activation, std::string_view down, double layers,
                          double tokens, double width, bool gated, double vectors, std::vector<Operator>& list) const {
  const double hidden = real(shard_.hidden);
  const double inputs = gated ? 2 * width : width;
  list.push_back(gemm(up, dtypes_.weights, layers, tokens, hidden, inputs));
  list.back().work.weight_bytes += vectors * activation_bytes_;
  list.push_back(elementwise(activation, layers, tokens * (inputs + width)));
  list.push_back(gemm(down, dtypes_.weights, layers, tokens, width, hidden));
}

void StepWork::append_feed_forward(std::size_t kind, std::int64_t tokens, std::vector<Operator>& list) const {
  const FeedForward& part = shard_.feed_forwards[kind];
  const double layers = real(shard_.layers_with_feed_forward(kind));
  const double t = real(tokens);
  const double hidden = real(shard_.hidden);
  double vectors = real(part.vectors);
  if (part.width > 0) {
    append_mlp("mlp_up", "mlp_activation", "mlp_down", layers, t, real(part.width), part.gated, vectors, list);
    vectors = 0;
  }
  if (!part.experts) return;
  const Experts& experts = *part.experts;
  list.push_back(gemm("router", dtypes_.activations, layers, t, hidden, real(experts.all())));
  list.back().work.weight_bytes += vectors * activation_bytes_;
  append_experts(part, layers, tokens, list);
  if (experts.shared_width > 0) {
    append_mlp("shared_up", "shared_activation", "shared_down", layers, t, real(experts.shared_width), part.gated, 0,
               list);
  }
}

void StepWork::append_experts(const FeedForward& part, double layers, std::int64_t tokens,
                              std::vector<Operator>& list) const {
  const Experts& experts = *part.experts;
  const double hidden = real(shard_.hidden);
  const std::int64_t all_tokens = tokens * sharding_.data;
  const double assignments = real(all_tokens * experts.per_token);
  const double imbalance = expected_imbalance(assignments, experts.ranks);
  const double arriving = std::min(real(all_tokens), real(all_tokens) * share_of_tokens(experts) * imbalance);
  const double used = assignments / real(experts.ranks) * imbalance;
  Operator op;
  op.name = "experts";
  op.family = OperatorFamily::kExperts;
  op.operands = dtypes_.experts;
  op.times = layers;
  const double per_expert = real(expert_matrices(shard_, part));
  op.work.flops = 2 * used * per_expert;
  op.work.weight_bytes = expected_experts(experts, all_tokens) *
                         (per_expert * bytes_per_element(dtypes_.experts) + real(experts.vectors) * activation_bytes_);
  const double between = (part.gated ? 3 : 2) * real(experts.width);
  op.work.activation_bytes = (2 * arriving * hidden + used * (hidden + between)) * activation_bytes_;
  if (sharding_.data == 1) {
    list.push_back(op);
    return;
  }
  // Each token goes once to every rank that holds one of its experts and comes back as one sum; of a copy's tensor
  // ranks, which all hold its tokens, each sends its part. The fullest rank's traffic decides.
  const double received = arriving * hidden * activation_bytes_;
  const double sent = received * real(experts.ranks - 1) / real(experts.ranks);
  list.push_back(link("dispatch", Collective::kAllToAll, layers, received, sent));
  list.push_back(op);
  list.push_back(link("combine", Collective::kAllToAll, layers, received, sent));
}

void StepWork::append_token_operators(std::int64_t tokens, std::vector<Operator>& list) const {
  if (tokens == 0) return;
  const double t = real(tokens);
  const double hidden = real(shard_.hidden);
  const double layers = real(shard_.layer_count());
  const double tables = shard_.positions > 0 ? 2 : 1;
  if (shard_.has_embedding) {
    list.push_back(elementwise("embedding", 1, t * hidden));
    list.back().work.weight_bytes = tables * t * hidden * activation_bytes_;
  }
  // A norm reads and writes the residual stream once: what the kernel before it wrote is still in the cache.
  const double norms = real(shard_.norms_per_layer);
  list.push_back(elementwise("norms", norms * layers, 2 * t * hidden));
  list.back().work.weight_bytes = real(shard_.layer_vectors) / norms * activation_bytes_;
  for (std::size_t kind = 0; kind < kinds_.size(); ++kind) append_attention_projections(kind, t, list);
  for (std::size_t kind = 0; kind < shard_.feed_forwards.size(); ++kind) append_feed_forward(kind, tokens, list);
  if (shard_.has_head) {
    list.push_back(elementwise("final_norm", 1, 2 * t * hidden));
    list.back().work.weight_bytes = real(shard_.final_vectors) * activation_bytes_;
  }
  const double ranks = real(sharding_.tensor);
  if (sharding_.tensor == 1) return;
  // After the output projection and after the MLP of every layer, and after the divided embedding; a ring sends
  // 2(n - 1)/n of the message.
  const double message = t * hidden * activation_bytes_;
  list.push_back(link("all_reduce", Collective::kAllReduce, 2 * layers + (shard_.has_embedding ? 1 : 0), message,
                      2 * (ranks - 1) / ranks * message));
}

void StepWork::append_sampled_operators(std::int64_t rows, std::vector<Operator>& list) const {
  if (rows == 0 || !shard_.has_head) return;
  const double r = real(rows);
  const double ranks = real(sharding_.tensor);
  const double vocab = real(shard_.vocab);
  const auto first = static_cast<std::ptrdiff_t>(list.size());
  list.push_back(gemm("lm_head", dtypes_.activations, 1, r, real(shard_.hidden), vocab));
  if (shard_.head_bias) list.back().work.weight_bytes += vocab * activation_bytes_;
  if (sharding_.tensor > 1) {
    const double part = r * vocab * activation_bytes_;
    list.push_back(link("logits_gather", Collective::kAllGather, 1, ranks * part, (ranks - 1) * part));
  }
  // fp32 logits read, probabilities written and read, over the whole vocabulary on every rank.
  Operator sampling = elementwise("sampling", 1, 0);
  sampling.work.activation_bytes = 3 * r * vocab * ranks * bytes_per_element(DType::kFp32);
  list.push_back(sampling);
  std::for_each(list.begin() + first, list.end(), [](Operator& op) { op.part = StepPart::kSampledRows; });
}

AttentionWork prefill_work(const StepWork::AttentionKind& cost, std::span<const PrefillChunk> chunks) {
  double pairs = 0;
  double tokens = 0;
  double context = 0;
  for (const PrefillChunk& chunk : chunks) {
    const Tokens kept = cost.window ? std::min(*cost.window, chunk.context) : chunk.context;
    pairs += causal_pairs(chunk, cost.window);
    tokens += real(chunk.tokens.count());
    context += real(kept.count());
  }
  return {cost.prefill_flops_per_pair * pairs + cost.prefill_flops_per_context * context,
          cost.kv_bytes_per_token * context, cost.prefill_bytes_per_token * tokens, 0};
}

Operator StepWork::attention(std::string_view name, OperatorFamily family, StepPart part, double layers,
                             const AttentionWork& work) const {
  Operator op;
  op.name = name;
  op.family = family;
  op.part = part;
  op.operands = dtypes_.activations;
  op.times = layers;
  op.work.flops = work.flops;
  op.work.kv_bytes = work.kv_bytes;
  op.work.activation_bytes = work.activation_bytes;
  op.rows = work.rows;
  return op;
}

Operator StepWork::prefill_attention(std::size_t kind, std::span<const PrefillChunk> chunks) const {
  return attention("prefill_attention", OperatorFamily::kPrefillAttention, StepPart::kPrefill, kinds_[kind].layers,
                   prefill_work(kinds_[kind], chunks));
}

Operator StepWork::decode_attention(std::size_t kind, const StepShape& shape) const {
  return attention("decode_attention", OperatorFamily::kDecodeAttention, StepPart::kDecode, kinds_[kind].layers,
                   decode_work(kinds_[kind], shape));
}

std::vector<Operator> StepWork::operators(const StepShape& shape) const {
  std::vector<Operator> list;
  append_token_operators(tokens_of(shape), list);
  append_sampled_operators(shape.sampled_rows, list);
  if (!shape.prefills.empty()) {
    for (std::size_t kind = 0; kind < kinds_.size(); ++kind) list.push_back(prefill_attention(kind, shape.prefills));
  }
  if (shape.decode_sequences > 0) {
    for (std::size_t kind = 0; kind < kinds_.size(); ++kind) list.push_back(decode_attention(kind, shape));
  }
  return list;
}

}  // namespace servecast
