// Gemma 1 to 4: gated MLP, tied embeddings, from the second on norms before and after each part and layers that
// alternate between a sliding window and full attention.
#include "costmodel/architectures.hpp"

namespace servecast {
namespace {

FeedForward read_mlp(const ConfigFields& config) {
  FeedForward part;
  part.width = config.integer("intermediate_size");
  return part;
}

// From layer_types, else every `pattern`-th layer attends fully.
std::vector<bool> read_pattern(const ConfigFields& config, std::int64_t pattern) {
  const std::int64_t layers = read_layer_count(config);
  std::vector<bool> slides = sliding_layers(config, layers);
  if (!slides.empty()) return slides;
  for (std::int64_t i = 0; i < layers; ++i) slides.push_back((i + 1) % pattern != 0);
  return slides;
}

void add_alternating(const ConfigFields& config, const Attention& full, const std::vector<bool>& slides,
                     ModelShape& model) {
  Attention sliding = full;
  sliding.window = Tokens{config.integer("sliding_window")};
  const FeedForward part = read_mlp(config);
  for (const bool window : slides) model.add_layer(window ? sliding : full, part);
}

// The sum of a dense MLP and experts, with a norm around each; the router scales its input and its outputs.
FeedForward read_gemma4_part(const ConfigFields& config, const ModelShape& model) {
  FeedForward part = read_mlp(config);
  if (!config.flag_or("enable_moe_block", false)) return part;
  Experts experts;
  experts.count = config.integer("num_experts");
  experts.per_token = read_experts_per_token(config, "top_k_experts", experts.count);
  experts.width = config.integer("moe_intermediate_size");
  part.experts = experts;
  part.vectors = model.hidden + experts.count;
  return part;
}

}  // namespace

void read_gemma(const ConfigFields& config, ModelShape& model) {
  config.refuse_if_set("attention_bias");
  model.hidden = config.integer("hidden_size");
  set_rms_norms(model, 2);
  const Attention attention = read_grouped_attention(config, model);
  const FeedForward part = read_mlp(config);
  const std::int64_t layers = read_layer_count(config);
  for (std::int64_t i = 0; i < layers; ++i) model.add_layer(attention, part);
}

void read_gemma2(const ConfigFields& config, ModelShape& model) {
  config.refuse_if_set("attention_bias");
  model.hidden = config.integer("hidden_size");
  set_rms_norms(model, 4);
  add_alternating(config, read_grouped_attention(config, model), read_pattern(config, 2), model);
}

void read_gemma3(const ConfigFields& config, ModelShape& model) {
  config.refuse_if_set("attention_bias");
  model.hidden = config.integer("hidden_size");
  set_rms_norms(model, 4);
  Attention full = read_grouped_attention(config, model);
  full.vectors = 2 * full.head_dim;
  add_alternating(config, full, read_pattern(config, config.integer_or("sliding_window_pattern", 6)), model);
}

// Full layers have their own head size and count, and with attention_k_eq_v no value projection: values are the
// projected keys before rotation, so the cache still holds both.
void read_gemma4(const ConfigFields& config, ModelShape& model) {
  for (const char* name :
       {"attention_bias", "hidden_size_per_layer_input", "num_kv_shared_layers", "use_double_wide_mlp"}) {
    config.refuse_if_set(name);
  }
  model.hidden = config.integer("hidden_size");
  const bool experts = config.flag_or("enable_moe_block", false);
  set_rms_norms(model, experts ? 7 : 4);
  model.layer_vectors += 1;  // scale of the layer's output
  Attention sliding = read_grouped_attention(config, model);
  Attention full = sliding;
  sliding.window = Tokens{config.integer("sliding_window")};
  sliding.vectors = 2 * sliding.head_dim;
  full.head_dim = config.integer_or("global_head_dim", full.head_dim);
  full.projects_values = !config.flag_or("attention_k_eq_v", false);
  if (!full.projects_values) full.kv_heads = config.integer_or("num_global_key_value_heads", full.kv_heads);
  if (full.query_heads % full.kv_heads != 0) config.fail("num_global_key_value_heads", "must divide the query heads");
  full.vectors = 2 * full.head_dim;
  const FeedForward part = read_gemma4_part(config, model);
  if (!config.has("layer_types")) config.fail("layer_types", "is missing");
  for (const bool window : read_pattern(config, 6)) model.add_layer(window ? sliding : full, part);
}

}  // namespace servecast
