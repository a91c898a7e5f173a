// Llama and its kin: RMS norms, rotary positions, gated MLP.
#include "costmodel/architectures.hpp"

namespace servecast {
namespace {

// attention_bias: biases of q, k, v and of the output projection.
void add_attention_bias(const ConfigFields& config, const ModelShape& model, Attention& attention) {
  if (config.flag_or("attention_bias", false)) attention.vectors += qkv_biases(attention) + model.hidden;
}

FeedForward read_gated_mlp(const ConfigFields& config, const ModelShape& model) {
  FeedForward part;
  part.width = config.integer("intermediate_size");
  if (config.flag_or("mlp_bias", false)) part.vectors = 2 * part.width + model.hidden;
  return part;
}

struct DensePieces {
  Attention attention;
  FeedForward feed_forward;
  std::int64_t layers;
};

DensePieces read_pieces(const ConfigFields& config, ModelShape& model) {
  model.hidden = config.integer("hidden_size");
  set_rms_norms(model, 2);
  return {read_grouped_attention(config, model), read_gated_mlp(config, model), read_layer_count(config)};
}

void add_uniform_layers(const DensePieces& pieces, ModelShape& model) {
  for (std::int64_t i = 0; i < pieces.layers; ++i) model.add_layer(pieces.attention, pieces.feed_forward);
}

std::optional<Tokens> read_window(const ConfigFields& config) {
  if (!config.has("sliding_window")) return std::nullopt;
  return Tokens{config.integer("sliding_window")};
}

// use_sliding_window is off unless said; then the layers from max_window_layers on slide, or those of layer_types.
void add_qwen_layers(const ConfigFields& config, const DensePieces& pieces, ModelShape& model) {
  if (!config.flag_or("use_sliding_window", false)) return add_uniform_layers(pieces, model);
  const std::vector<bool> listed = sliding_layers(config, pieces.layers);
  const std::int64_t first = config.integer_or("max_window_layers", pieces.layers, 0);
  Attention windowed = pieces.attention;
  windowed.window = Tokens{config.integer("sliding_window")};
  for (std::int64_t i = 0; i < pieces.layers; ++i) {
    const bool slides = listed.empty() ? i >= first : listed[static_cast<std::size_t>(i)];
    model.add_layer(slides ? windowed : pieces.attention, pieces.feed_forward);
  }
}

}  // namespace

void read_llama(const ConfigFields& config, ModelShape& model) {
  DensePieces pieces = read_pieces(config, model);
  add_attention_bias(config, model, pieces.attention);
  add_uniform_layers(pieces, model);
}

void read_mistral(const ConfigFields& config, ModelShape& model) {
  DensePieces pieces = read_pieces(config, model);
  pieces.attention.window = read_window(config);
  add_uniform_layers(pieces, model);
}

void read_phi3(const ConfigFields& config, ModelShape& model) {
  config.refuse_if_set("attention_bias");
  read_mistral(config, model);
}

void read_qwen2(const ConfigFields& config, ModelShape& model) {
  DensePieces pieces = read_pieces(config, model);
  pieces.attention.vectors = qkv_biases(pieces.attention);
  add_qwen_layers(config, pieces, model);
}

void read_qwen3(const ConfigFields& config, ModelShape& model) {
  DensePieces pieces = read_pieces(config, model);
  add_attention_bias(config, model, pieces.attention);
  pieces.attention.vectors += 2 * pieces.attention.head_dim;  // norms of q and k, shared by the heads
  add_qwen_layers(config, pieces, model);
}

}  // namespace servecast
