// DeepSeek V2 and V3, Kimi K2: latent attention, many small experts beside shared ones, dense first layers.
#include "costmodel/architectures.hpp"

namespace servecast {
namespace {

Attention read_latent_attention(const ConfigFields& config) {
  LatentAttention latent;
  latent.query_rank = config.integer_or("q_lora_rank", 0);
  latent.kv_rank = config.integer("kv_lora_rank");
  latent.rope_dim = config.integer("qk_rope_head_dim");
  latent.nope_dim = config.integer("qk_nope_head_dim");
  latent.value_dim = config.integer("v_head_dim");
  Attention attention;
  attention.query_heads = config.integer("num_attention_heads");
  attention.kv_heads = attention.query_heads;
  attention.head_dim = latent.nope_dim + latent.rope_dim;
  attention.vectors = latent.query_rank + latent.kv_rank;  // norms of the latents
  attention.latent = latent;
  return attention;
}

// The correction bias of the router is a buffer that balances load, and is not counted as a parameter.
FeedForward read_sparse_part(const ConfigFields& config) {
  Experts experts;
  experts.count = config.integer("n_routed_experts");
  experts.per_token = read_experts_per_token(config, "num_experts_per_tok", experts.count);
  experts.width = config.integer("moe_intermediate_size");
  experts.shared_width = config.integer_or("n_shared_experts", 0, 0) * experts.width;
  FeedForward part;
  part.experts = experts;
  return part;
}

}  // namespace

void read_deepseek(const ConfigFields& config, ModelShape& model) {
  config.refuse_if_set("attention_bias");
  config.refuse_if_set("index_topk");  // sparse attention of V3.2
  model.hidden = config.integer("hidden_size");
  set_rms_norms(model, 2);
  const Attention attention = read_latent_attention(config);
  FeedForward dense;
  dense.width = config.integer("intermediate_size");
  const std::int64_t layers = read_layer_count(config);
  const std::int64_t first_sparse = config.integer_or("first_k_dense_replace", 0, 0);
  const std::int64_t every = config.integer_or("moe_layer_freq", 1);
  for (std::int64_t i = 0; i < layers; ++i) {
    model.add_layer(attention, i >= first_sparse && i % every == 0 ? read_sparse_part(config) : dense);
  }
  model.mtp.count = config.integer_or("num_nextn_predict_layers", 0, 0);
}

}  // namespace servecast
