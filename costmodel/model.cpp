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
  return (part.experts->count - part.experts->per_token) * (expert_matrices(model, part) + part.experts->vectors);
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

std::int64_t divide(std::int64_t value, std::int64_t ranks, const ModelShape& model, const char* what) {
  if (value % ranks == 0) return value / ranks;
  throw InputError({{}, 0, "tensor_parallel"}, std::to_string(ranks) + " ranks do not divide the " +
                                                   std::to_string(value) + " " + what + " of " + model.name);
}

std::int64_t divide_kv_heads(std::int64_t heads, std::int64_t ranks, const ModelShape& model) {
  if (ranks > heads && ranks % heads == 0) return 1;
  return divide(heads, ranks, model, "key-value heads");
}

void shard_attention(Attention& part, std::int64_t ranks, const ModelShape& model) {
  part.query_heads = divide(part.query_heads, ranks, model, "query heads");
  part.kv_heads = part.latent ? part.query_heads : divide_kv_heads(part.kv_heads, ranks, model);
}

void shard_feed_forward(FeedForward& part, std::int64_t ranks, const ModelShape& model) {
  part.width = divide(part.width, ranks, model, "columns of the MLP");
  if (!part.experts) return;
  part.experts->width = divide(part.experts->width, ranks, model, "columns of an expert");
  part.experts->shared_width = divide(part.experts->shared_width, ranks, model, "columns of the shared experts");
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
  return part.experts ? model.hidden * part.experts->count : 0;
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
  counts.non_embedding += model.final_vectors;
  const std::int64_t head = (model.tied ? 0 : model.vocab * model.hidden) + (model.head_bias ? model.vocab : 0);
  counts.total = counts.non_embedding + (model.vocab + model.positions) * model.hidden + head;
  counts.active = counts.total - idle;
  counts.mtp = mtp_parameters(model);
  return counts;
}

ModelShape shard(const ModelShape& model, std::int64_t ranks) {
  if (ranks < 1) throw InputError({{}, 0, "tensor_parallel"}, "must be at least 1");
  ModelShape rank = model;
  for (Attention& part : rank.attentions) shard_attention(part, ranks, model);
  for (FeedForward& part : rank.feed_forwards) shard_feed_forward(part, ranks, model);
  rank.vocab = (model.vocab + ranks - 1) / ranks;
  return rank;
}

}  // namespace servecast
