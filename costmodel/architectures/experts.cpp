// Mixtures of experts with grouped attention.
#include <algorithm>

#include "costmodel/architectures.hpp"

namespace servecast {
namespace {

Experts read_experts(const ConfigFields& config, const char* count, const char* width) {
  Experts experts;
  experts.count = config.integer(count);
  experts.per_token = read_experts_per_token(config, "num_experts_per_tok", experts.count);
  experts.width = config.integer(width);
  return experts;
}

FeedForward only_experts(const Experts& experts) {
  FeedForward part;
  part.experts = experts;
  return part;
}

void add_uniform(const ConfigFields& config, const Attention& attention, const FeedForward& part, ModelShape& model) {
  const std::int64_t layers = read_layer_count(config);
  for (std::int64_t i = 0; i < layers; ++i) model.add_layer(attention, part);
}

std::optional<Tokens> read_window(const ConfigFields& config) {
  if (!config.has("sliding_window")) return std::nullopt;
  return Tokens{config.integer("sliding_window")};
}

// Every decoder_sparse_step-th layer has experts, except those listed as mlp_only_layers.
void add_qwen_layers(const ConfigFields& config, const Attention& attention, const FeedForward& sparse,
                     ModelShape& model) {
  const std::int64_t layers = read_layer_count(config);
  const std::int64_t step = config.integer_or("decoder_sparse_step", 1);
  std::vector<std::int64_t> dense_layers;
  if (config.has("mlp_only_layers")) dense_layers = config.integers("mlp_only_layers");
  FeedForward dense;
  dense.width = config.integer("intermediate_size");
  for (std::int64_t i = 0; i < layers; ++i) {
    const bool listed = std::find(dense_layers.begin(), dense_layers.end(), i) != dense_layers.end();
    model.add_layer(attention, listed || (i + 1) % step != 0 ? dense : sparse);
  }
}

void refuse_sliding_window(const ConfigFields& config) { config.refuse_if_set("use_sliding_window"); }

}  // namespace

void read_mixtral(const ConfigFields& config, ModelShape& model) {
  model.hidden = config.integer("hidden_size");
  set_rms_norms(model, 2);
  Attention attention = read_grouped_attention(config, model);
  attention.window = read_window(config);
  add_uniform(config, attention, only_experts(read_experts(config, "num_local_experts", "intermediate_size")), model);
}

void read_qwen2_moe(const ConfigFields& config, ModelShape& model) {
  refuse_sliding_window(config);
  model.hidden = config.integer("hidden_size");
  set_rms_norms(model, 2);
  Attention attention = read_grouped_attention(config, model);
  attention.vectors = qkv_biases(attention);
  Experts experts = read_experts(config, "num_experts", "moe_intermediate_size");
  experts.shared_width = config.integer("shared_expert_intermediate_size");
  FeedForward sparse = only_experts(experts);
  sparse.vectors = model.hidden;  // gate of the shared expert
  add_qwen_layers(config, attention, sparse, model);
}

void read_qwen3_moe(const ConfigFields& config, ModelShape& model) {
  refuse_sliding_window(config);
  model.hidden = config.integer("hidden_size");
  set_rms_norms(model, 2);
  Attention attention = read_grouped_attention(config, model);
  attention.vectors = 2 * attention.head_dim;
  if (config.flag_or("attention_bias", false)) attention.vectors += qkv_biases(attention) + model.hidden;
  add_qwen_layers(config, attention, only_experts(read_experts(config, "num_experts", "moe_intermediate_size")), model);
}

// Layer norms with biases, also the last one.
void read_phimoe(const ConfigFields& config, ModelShape& model) {
  model.hidden = config.integer("hidden_size");
  model.norms_per_layer = 2;
  model.layer_vectors = 4 * model.hidden;
  model.final_vectors = 2 * model.hidden;
  model.head_bias = config.flag_or("lm_head_bias", false);
  Attention attention = read_grouped_attention(config, model);
  attention.window = read_window(config);
  if (config.flag_or("attention_bias", false)) attention.vectors = qkv_biases(attention) + model.hidden;
  add_uniform(config, attention, only_experts(read_experts(config, "num_local_experts", "intermediate_size")), model);
}

void read_minimax_m2(const ConfigFields& config, ModelShape& model) {
  config.refuse_if_set("shared_intermediate_size");
  model.hidden = config.integer("hidden_size");
  set_rms_norms(model, 2);
  Attention attention = read_grouped_attention(config, model);
  if (config.flag_or("use_qk_norm", false)) {
    if (config.text("qk_norm_type") != "per_layer") config.fail("qk_norm_type", "only per_layer is known");
    attention.vectors = (attention.query_heads + attention.kv_heads) * attention.head_dim;
  }
  if (config.flag_or("use_mtp", false)) model.caveats.emplace_back("its prediction modules (MTP) are not counted");
  add_uniform(config, attention, only_experts(read_experts(config, "num_local_experts", "intermediate_size")), model);
}

// Biases everywhere: attention, router and experts; one sink per query head.
void read_gpt_oss(const ConfigFields& config, ModelShape& model) {
  model.hidden = config.integer("hidden_size");
  set_rms_norms(model, 2);
  Attention full = read_grouped_attention(config, model);
  full.vectors = full.query_heads;
  if (config.flag_or("attention_bias", true)) full.vectors += qkv_biases(full) + model.hidden;
  Attention sliding = full;
  sliding.window = Tokens{config.integer("sliding_window")};
  Experts experts = read_experts(config, "num_local_experts", "intermediate_size");
  experts.vectors = 2 * experts.width + model.hidden;
  FeedForward part = only_experts(experts);
  part.vectors = experts.count;
  const std::int64_t layers = read_layer_count(config);
  if (!config.has("layer_types")) config.fail("layer_types", "is missing");
  const std::vector<bool> slides = sliding_layers(config, layers);
  for (const bool window : slides) model.add_layer(window ? sliding : full, part);
}

// Three of four layers attend in chunks (those with rotary positions); interleave_moe_layer_step spaces the
// layers with experts, which also have a shared expert of the same width.
void read_llama4(const ConfigFields& config, ModelShape& model) {
  model.hidden = config.integer("hidden_size");
  set_rms_norms(model, 2);
  const Attention full = read_grouped_attention(config, model);
  config.refuse_if_set("attention_bias");
  config.refuse_if_set("no_rope_layers");
  config.refuse_if_set("moe_layers");
  Attention chunked = full;
  if (config.has("attention_chunk_size")) {
    chunked.window = Tokens{config.integer("attention_chunk_size")};
    model.caveats.emplace_back("attention in chunks is counted as a sliding window of the same size, an upper bound");
  }
  Experts experts = read_experts(config, "num_local_experts", "intermediate_size");
  experts.shared_width = experts.width;
  FeedForward dense;
  dense.width = config.integer("intermediate_size_mlp");
  const std::int64_t layers = read_layer_count(config);
  const std::int64_t step = config.integer("interleave_moe_layer_step");
  const std::int64_t rope_step = config.integer_or("no_rope_layer_interval", 4);
  for (std::int64_t i = 0; i < layers; ++i) {
    model.add_layer((i + 1) % rope_step == 0 ? full : chunked, (i + 1) % step == 0 ? only_experts(experts) : dense);
  }
}

}  // namespace servecast
