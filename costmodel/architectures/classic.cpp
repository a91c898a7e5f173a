// OPT, GPT-2 and Falcon: layer norms with biases and a plain MLP of two matrices.
#include "costmodel/architectures.hpp"

namespace servecast {
namespace {

Attention multi_head(std::int64_t heads, std::int64_t hidden) {
  Attention attention;
  attention.query_heads = heads;
  attention.kv_heads = heads;
  attention.head_dim = hidden / heads;
  return attention;
}

FeedForward plain_mlp(std::int64_t width, std::int64_t hidden, bool bias) {
  FeedForward part;
  part.width = width;
  part.gated = false;
  part.vectors = bias ? width + hidden : 0;
  return part;
}

void set_layer_norms(ModelShape& model, std::int64_t norms) {
  model.norms_per_layer = norms;
  model.layer_vectors = 2 * norms * model.hidden;
  model.final_vectors = 2 * model.hidden;
}

void add_uniform(std::int64_t layers, const Attention& attention, const FeedForward& part, ModelShape& model) {
  for (std::int64_t i = 0; i < layers; ++i) model.add_layer(attention, part);
}

}  // namespace

void read_opt(const ConfigFields& config, ModelShape& model) {
  model.hidden = config.integer("hidden_size");
  if (config.integer_or("word_embed_proj_dim", model.hidden) != model.hidden) {
    config.fail("word_embed_proj_dim", "must equal hidden_size: projected embeddings are not supported");
  }
  if (!config.flag_or("layer_norm_elementwise_affine", true)) {
    config.fail("layer_norm_elementwise_affine", "must be true: norms without parameters are not supported");
  }
  model.positions = config.integer("max_position_embeddings") + 2;  // OPT keeps two rows before the first position
  set_layer_norms(model, 2);
  if (!config.flag_or("do_layer_norm_before", true)) model.final_vectors = 0;
  const std::int64_t heads = config.integer("num_attention_heads");
  if (model.hidden % heads != 0) config.fail("num_attention_heads", "must divide hidden_size");
  const bool bias = config.flag_or("enable_bias", true);
  Attention attention = multi_head(heads, model.hidden);
  attention.vectors = bias ? 4 * model.hidden : 0;
  add_uniform(read_layer_count(config), attention, plain_mlp(config.integer("ffn_dim"), model.hidden, bias), model);
}

void read_gpt2(const ConfigFields& config, ModelShape& model) {
  model.hidden = config.integer("n_embd");
  model.positions = config.integer("n_positions");
  model.max_positions = Tokens{model.positions};
  set_layer_norms(model, 2);
  const std::int64_t heads = config.integer("n_head");
  if (model.hidden % heads != 0) config.fail("n_head", "must divide n_embd");
  Attention attention = multi_head(heads, model.hidden);
  attention.vectors = 4 * model.hidden;
  const std::int64_t layers = config.integer("n_layer");
  if (layers > 1024) config.fail("n_layer", "is above 1024");
  add_uniform(layers, attention, plain_mlp(config.integer_or("n_inner", 4 * model.hidden), model.hidden, true), model);
}

// One key-value head where multi_query (7B), num_kv_heads groups in the new decoder (40B, 180B).
void read_falcon(const ConfigFields& config, ModelShape& model) {
  model.hidden = config.integer("hidden_size");
  const std::int64_t heads = config.integer("num_attention_heads");
  if (model.hidden % heads != 0) config.fail("num_attention_heads", "must divide hidden_size");
  const bool grouped = config.flag_or("new_decoder_architecture", false);
  const bool one_norm = !grouped && config.flag_or("parallel_attn", true);
  set_layer_norms(model, one_norm ? 1 : config.integer_or("num_ln_in_parallel_attn", 2));
  Attention attention = multi_head(heads, model.hidden);
  if (grouped) {
    attention.kv_heads = config.integer("num_kv_heads");
  } else if (config.flag_or("multi_query", true)) {
    attention.kv_heads = 1;
  }
  if (heads % attention.kv_heads != 0) config.fail("num_kv_heads", "must divide num_attention_heads");
  const bool bias = config.flag_or("bias", false);
  if (bias) attention.vectors = qkv_biases(attention) + model.hidden;
  const std::int64_t width = config.integer_or("ffn_hidden_size", 4 * model.hidden);
  add_uniform(read_layer_count(config), attention, plain_mlp(width, model.hidden, bias), model);
}

}  // namespace servecast
