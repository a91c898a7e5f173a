// What a model's speed and memory depend on: its matrices, its attention and its layers. Read from a Hugging
// Face config.json (model_config.hpp); all counts are exact.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "costmodel/dtype.hpp"
#include "sim/units.hpp"

namespace servecast {

// Multi-head latent attention (DeepSeek-V2): the cache holds one latent and one rotary key per token,
// whatever the number of heads.
struct LatentAttention {
  std::int64_t query_rank = 0;  // 0: queries are projected directly
  std::int64_t kv_rank = 0;
  std::int64_t rope_dim = 0;
  std::int64_t nope_dim = 0;
  std::int64_t value_dim = 0;

  friend bool operator==(const LatentAttention&, const LatentAttention&) = default;
};

struct Attention {
  std::int64_t query_heads = 0;
  std::int64_t kv_heads = 0;  // = query_heads for latent attention
  std::int64_t head_dim = 0;  // of one query and key; for latent attention nope_dim + rope_dim
  std::optional<Tokens> window;
  bool projects_values = true;  // false: values are the projected keys (Gemma 4, full layers)
  std::optional<LatentAttention> latent;
  std::int64_t vectors = 0;  // parameters outside the matrices: biases, norms of q and k, sinks

  friend bool operator==(const Attention&, const Attention&) = default;
};

struct Experts {
  std::int64_t count = 0;  // held here; all of them unless they are spread over ranks
  std::int64_t per_token = 0;
  std::int64_t width = 0;         // of one expert
  std::int64_t shared_width = 0;  // of all shared experts together, which every token uses
  std::int64_t vectors = 0;       // biases of one expert
  std::int64_t ranks = 1;         // that whole experts are spread over

  // Those the router chooses among.
  [[nodiscard]] std::int64_t all() const { return count * ranks; }
  friend bool operator==(const Experts&, const Experts&) = default;
};

struct FeedForward {
  std::int64_t width = 0;  // dense part, 0 when the layer has experts only
  bool gated = true;       // gate and up project beside each other
  std::optional<Experts> experts;
  std::int64_t vectors = 0;  // biases, router scales

  friend bool operator==(const FeedForward&, const FeedForward&) = default;
};

// A layer names its parts by index, since models repeat one to three kinds.
struct Layer {
  std::uint8_t attention = 0;
  std::uint8_t feed_forward = 0;
};

// DeepSeek-V3's extra prediction modules: one more layer each, and in the published checkpoint their own copy of
// embedding and head. Counted apart, since they run only for speculation.
struct MtpModules {
  std::int64_t count = 0;
};

struct ModelShape {
  std::string name;          // of the file, without .json
  std::string architecture;  // the config's model_type
  std::int64_t hidden = 0;
  std::int64_t vocab = 0;
  std::int64_t positions = 0;  // rows of a learned position embedding, 0: none
  bool tied = false;           // the LM head is the embedding
  bool head_bias = false;
  Tokens max_positions;            // the context the model was made for; 0: the config does not say
  std::int64_t layer_vectors = 0;  // norms of one layer
  std::int64_t norms_per_layer = 0;
  std::int64_t final_vectors = 0;  // last norm
  std::vector<Attention> attentions;
  std::vector<FeedForward> feed_forwards;
  std::vector<Layer> layers;
  MtpModules mtp;
  bool has_embedding = true;          // of a pipeline's stages, only the first
  bool has_head = true;               // last norm and LM head: only the last
  DType weight_dtype = DType::kBf16;  // as published
  DType expert_dtype = DType::kBf16;
  std::vector<std::string> caveats;  // where counts are bounds and not exact, for the user to read

  [[nodiscard]] std::int64_t layer_count() const { return static_cast<std::int64_t>(layers.size()); }
  // Layers that use attentions[kind] or feed_forwards[kind].
  [[nodiscard]] std::int64_t layers_with_attention(std::size_t kind) const;
  [[nodiscard]] std::int64_t layers_with_feed_forward(std::size_t kind) const;
  // Appends a layer, reusing equal parts.
  void add_layer(const Attention& attention, const FeedForward& feed_forward);
  // The one window of its sliding layers, if it has any.
  [[nodiscard]] std::optional<Tokens> window() const;
};

// Parameters of the matrices of one layer.
[[nodiscard]] std::int64_t attention_matrices(const ModelShape& model, const Attention& part);
[[nodiscard]] std::int64_t dense_matrices(const ModelShape& model, const FeedForward& part);  // incl. shared experts
[[nodiscard]] std::int64_t router_matrix(const ModelShape& model, const FeedForward& part);
[[nodiscard]] std::int64_t expert_matrices(const ModelShape& model, const FeedForward& part);  // of one expert

struct ParameterCounts {
  std::int64_t total = 0;          // tied embeddings once; without MTP modules and router correction biases
  std::int64_t non_embedding = 0;  // total without token and position embeddings and LM head (A dense token's 2N)
  std::int64_t active = 0;         // total without the experts a token does not use
  std::int64_t mtp = 0;            // the MTP modules, as stored
};

[[nodiscard]] ParameterCounts count_parameters(const ModelShape& model);

// How one copy of a model, or one stage of it, is divided over devices.
struct Sharding {
  std::int64_t tensor = 1;       // ranks that share heads and widths
  std::int64_t data = 1;         // copies of the attention, each with tokens of its own, that share the experts
  bool expert_parallel = false;  // whole experts spread over all ranks, instead of every expert's width over `tensor`

  [[nodiscard]] std::int64_t ranks() const { return tensor * data; }
  friend bool operator==(const Sharding&, const Sharding&) = default;
};

// What one rank holds: heads and widths divided, norms, routers and latent projections whole, kv heads repeated where
// there are fewer than ranks, vocabulary rounded up. Throws InputError where a dimension does not divide, and where
// data parallelism has no experts to share.
[[nodiscard]] ModelShape shard(const ModelShape& model, const Sharding& sharding);
[[nodiscard]] ModelShape shard(const ModelShape& model, std::int64_t tensor_ranks);

// Layers [first, last) with what a pipeline stage holds beside them: the embedding where they are the first, the last
// norm, the LM head and the prediction modules where they are the last. A tied head is a copy where it is not beside
// the embedding.
[[nodiscard]] ModelShape stage_of(const ModelShape& model, std::int64_t first, std::int64_t last);

}  // namespace servecast
