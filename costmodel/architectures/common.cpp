#include "costmodel/architectures.hpp"

namespace servecast {

Attention read_grouped_attention(const ConfigFields& config, const ModelShape& model) {
  Attention attention;
  attention.query_heads = config.integer("num_attention_heads");
  attention.kv_heads = config.integer_or("num_key_value_heads", attention.query_heads);
  if (attention.query_heads % attention.kv_heads != 0) {
    config.fail("num_key_value_heads", "must divide num_attention_heads");
  }
  if (!config.has("head_dim") && model.hidden % attention.query_heads != 0) {
    config.fail("num_attention_heads", "must divide hidden_size where head_dim is not given");
  }
  attention.head_dim = config.integer_or("head_dim", model.hidden / attention.query_heads);
  return attention;
}

std::int64_t qkv_biases(const Attention& attention) {
  return (attention.query_heads + 2 * attention.kv_heads) * attention.head_dim;
}

std::int64_t read_layer_count(const ConfigFields& config) {
  const std::int64_t layers = config.integer("num_hidden_layers");
  if (layers > 1024) config.fail("num_hidden_layers", "is above 1024");
  return layers;
}

void set_rms_norms(ModelShape& model, std::int64_t norms) {
  model.norms_per_layer = norms;
  model.layer_vectors = norms * model.hidden;
  model.final_vectors = model.hidden;
}

std::vector<bool> sliding_layers(const ConfigFields& config, std::int64_t layers) {
  std::vector<bool> sliding;
  if (!config.has("layer_types")) return sliding;
  for (const std::string& kind : config.texts("layer_types")) {
    if (kind != "sliding_attention" && kind != "full_attention") {
      config.fail("layer_types", "attention '" + kind + "' is not supported");
    }
    sliding.push_back(kind == "sliding_attention");
  }
  if (static_cast<std::int64_t>(sliding.size()) != layers) {
    config.fail("layer_types", "must have one entry per hidden layer");
  }
  return sliding;
}

std::int64_t read_experts_per_token(const ConfigFields& config, const char* name, std::int64_t count) {
  const std::int64_t used = config.integer(name);
  if (used > count) config.fail(name, "is above the number of experts");
  return used;
}

}  // namespace servecast
