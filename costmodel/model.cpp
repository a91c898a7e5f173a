#include "costmodel/model.hpp"

#include <algorithm>

#include "sim/error.hpp"

namespace servecast {
namespace {

template <class T>
std::uint8_t index_of(std::vector<T>& known, const T& wanted) {
  const auto found = std::find(known.begin(), known.end(), wanted);
  const auto index = found - known.begin();
  if (found == known.end()) known.push_back(wanted);
  return static_cast<std::uint8_t>(index);
}

std::int64_t expert_vectors(const FeedForward& part) { return part.experts ? part.experts->vectors : 0; }

std::int64_t layer_parameters(const ModelShape& model, const Attention& attention, const FeedForward& part) {
  const std::int64_t experts = part.experts ? part.experts->count : 0;
  return attention_matrices(model, attention) + attention.vectors + dense_matrices(model, part) +
         router_matrix(model, part) + part.vectors + experts * (expert_matrices(model, part) + expert_vectors(part)) +
         model.layer_vectors;
}

std::int64_t idle_parameters(const ModelShape& model, const FeedForward& part) {
  if (!part.experts) return 0;
  const Experts& experts = *part.experts;
  const std::int64_t idle = experts.all() - experts.per_token;
  return idle * (expert_matrices(model, part) + experts.vectors) / experts.ranks;
}

// One more last layer, the projection of [embedding; hidden] to hidden with a norm for each, the norm of the
// module's own head, and copies of embedding and head.
std::int64_t mtp_parameters(const ModelShape& model) {
  if (model.mtp.count == 0) return 0;
  const Layer& last = model.layers.back();
  const std::int64_t layer =
      layer_parameters(model, model.attentions[last.attention], model.feed_forwards[last.feed_forward]);
  return model.mtp.count *
         (layer + 2 * model.hidden * model.hidden + 3 * model.hidden + 2 * model.vocab * model.hidden);
}

std::int64_t divide(std::int64_t value, std::int64_t ranks, const ModelShape& model, const char* what,
                    const char* field = "tensor_parallel") {
  if (value % ranks == 0) return value / ranks;
  throw InputError({{}, 0, field}, std::to_string(ranks) + " ranks do not divide the " + std::to_string(value) + " " +
                                       what + " of " + model.name);
}

std::int64_t divide_kv_heads(std::int64_t heads, std::int64_t ranks, const ModelShape& model) {
  if (ranks > heads && ranks % heads == 0) return 1;
  return divide(heads, ranks, model, "key-value heads");
}

void shard_attention(Attention& part, std::int64_t ranks, const ModelShape& model) {
  part.query_heads = divide(part.query_heads, ranks, model, "query heads");
  part.kv_heads = part.latent ? part.query_heads : divide_kv_heads(part.kv_heads, ranks, model);
}

void shard_feed_forward(FeedForward& part, const Sharding& sharding, const ModelShape& model) {
  part.width = divide(part.width, sharding.tensor, model, "columns of the MLP");
  if (!part.experts) return;
  Experts& experts = *part.experts;
  if (sharding.expert_parallel) {
    experts.count = divide(experts.count, sharding.ranks(), model, "experts", "expert_parallel");
    experts.ranks = sharding.ranks();
  } else {
    experts.width = divide(experts.width, sharding.tensor, model, "columns of an expert");
  }
  experts.shared_width = divide(experts.shared_width, sharding.tensor, model, "columns of the shared experts");
}

void check(const Sharding& sharding, const ModelShape& model) {
  const auto refuse = [](const char* field, const std::string& problem) { throw InputError({{}, 0, field}, problem); };
  if (sharding.tensor < 1) refuse("tensor_parallel", "must be at least 1");
  if (sharding.data < 1) refuse("data_parallel", "must be at least 1");
  const bool has_experts = std::any_of(model.feed_forwards.begin(), model.feed_forwards.end(),
                                       [](const FeedForward& part) { return part.experts.has_value(); });
  if (sharding.expert_parallel && !has_experts) refuse("expert_parallel", model.name + " has no experts");
  if (sharding.data > 1 && !sharding.expert_parallel) {
    refuse("data_parallel", "without expert_parallel, copies share nothing: they are replicas");
  }
}

// Embeddings and LM head.
std::int64_t outer_parameters(const ModelShape& model) {
  std::int64_t count = model.has_embedding ? (model.vocab + model.positions) * model.hidden : 0;
  if (!model.has_head) return count;
  if (!model.tied || !model.has_embedding) count += model.vocab * model.hidden;
  return count + (model.head_bias ? model.vocab : 0);
}

}  // namespace

std::int64_t ModelShape::layers_with_attention(std::size_t kind) const {
  return std::count_if(layers.begin(), layers.end(), [&](const Layer& layer) { return layer.attention == kind; });
}

std::int64_t ModelShape::layers_with_feed_forward(std::size_t kind) const {
  return std::count_if(layers.begin(), layers.end(), [&](const Layer& layer) { return layer.feed_forward == kind; });
}

void ModelShape::add_layer(const Attention& attention, const FeedForward& feed_forward) {
  layers.push_back({index_of(attentions, attention), index_of(feed_forwards, feed_forward)});
}

std::optional<Tokens> ModelShape::window() const {
  for (const Attention& part : attentions) {
    if (part.window) return part.window;
  }
  return std::nullopt;
}

std::int64_t attention_matrices(const ModelShape& model, const Attention& part) {
  if (part.latent) {
    const LatentAttention& latent = *part.latent;
    const std::int64_t query_width = part.query_heads * part.head_dim;
    const std::int64_t queries =
        latent.query_rank == 0 ? model.hidden * query_width : latent.query_rank * (model.hidden + query_width);
    const std::int64_t down = model.hidden * (latent.kv_rank + latent.rope_dim);
    const std::int64_t up = latent.kv_rank * part.query_heads * (latent.nope_dim + latent.value_dim);
    return queries + down + up + part.query_heads * latent.value_dim * model.hidden;
  }
  const std::int64_t projected = part.query_heads + (part.projects_values ? 2 : 1) * part.kv_heads;
  return model.hidden * part.head_dim * (projected + part.query_heads);
}

std::int64_t dense_matrices(const ModelShape& model, const FeedForward& part) {
  const std::int64_t width = part.width + (part.experts ? part.experts->shared_width : 0);
  return (part.gated ? 3 : 2) * model.hidden * width;
}

std::int64_t router_matrix(const ModelShape& model, const FeedForward& part) {
  return part.experts ? model.hidden * part.experts->all() : 0;
}

std::int64_t expert_matrices(const ModelShape& model, const FeedForward& part) {
  return part.experts ? (part.gated ? 3 : 2) * model.hidden * part.experts->width : 0;
}

ParameterCounts count_parameters(const ModelShape& model) {
  ParameterCounts counts;
  std::int64_t idle = 0;
  for (const Layer& layer : model.layers) {
    const FeedForward& part = model.feed_forwards[layer.feed_forward];
    counts.non_embedding += layer_parameters(model, model.attentions[layer.attention], part);
    idle += idle_parameters(model, part);
  }
  if (model.has_head) counts.non_embedding += model.final_vectors;
  counts.total = counts.non_embedding + outer_parameters(model);
  counts.active = counts.total - idle;
  counts.mtp = mtp_parameters(model);
  return counts;
}

ModelShape shard(const ModelShape& model, const Sharding& sharding) {
  check(sharding, model);
  ModelShape rank = model;
  for (Attention& part : rank.attentions) shard_attention(part, sharding.tensor, model);
  for (FeedForward& part : rank.feed_forwards) shard_feed_forward(part, sharding, model);
  rank.vocab = (model.vocab + sharding.tensor - 1) / sharding.tensor;
  return rank;
}

ModelShape shard(const ModelShape& model, std::int64_t tensor_ranks) { return shard(model, Sharding{tensor_ranks}); }

ModelShape stage_of(const ModelShape& model, std::int64_t first, std::int64_t last) {
  ModelShape stage = model;
  stage.attentions.clear();
  stage.feed_forwards.clear();
  stage.layers.clear();
  for (std::int64_t i = first; i < last; ++i) {
    const Layer& layer = model.layers[static_cast<std::size_t>(i)];
    stage.add_layer(model.attentions[layer.attention], model.feed_forwards[layer.feed_forward]);
  }
  stage.has_embedding = model.has_embedding && first == 0;
  stage.has_head = model.has_head && last == model.layer_count();
  if (!stage.has_head) stage.mtp.count = 0;
  return stage;
}

}  // namespace servecast
