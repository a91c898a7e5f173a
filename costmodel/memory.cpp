#include "costmodel/memory.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

#include "sim/error.hpp"

namespace servecast {
namespace {

struct MatrixCounts {
  std::int64_t layers = 0;
  std::int64_t experts = 0;
};

MatrixCounts count_matrices(const ModelShape& model) {
  MatrixCounts counts;
  for (const Layer& layer : model.layers) {
    const FeedForward& part = model.feed_forwards[layer.feed_forward];
    counts.layers += attention_matrices(model, model.attentions[layer.attention]) + dense_matrices(model, part);
    if (part.experts) counts.experts += part.experts->count * expert_matrices(model, part);
  }
  return counts;
}

// "12.34 GB (11.49 GiB)"
std::string both_units(std::int64_t bytes) {
  char text[64];
  const double value = static_cast<double>(bytes);
  std::snprintf(text, sizeof text, "%.3f GB (%.3f GiB)", value / 1e9, value / 0x1p30);
  return text;
}

void check(const MemoryBudget& budget) {
  const auto refuse = [](const char* field, const char* problem) { throw InputError({{}, 0, field}, problem); };
  if (budget.capacity.count() <= 0) refuse("memory_capacity", "must be positive");
  if (!(budget.utilisation > 0 && budget.utilisation <= 1)) refuse("memory_utilisation", "must be in (0, 1]");
  if (budget.reserve.count() < 0) refuse("memory_reserve", "must not be negative");
  if (budget.block_size.count() <= 0) refuse("block_size", "must be positive");
}

std::string shortage_message(const ModelShape& shard, const MemoryPlan& plan, std::int64_t missing) {
  return shard.name + " does not fit: " + both_units(plan.weights.count()) + " of weights, " +
         both_units(plan.activations.count()) + " of activations and " + both_units(plan.reserve.count()) +
         " of reserve leave no room for KV blocks in " + both_units(plan.usable.count()) + " per device; " +
         both_units(missing) + " are missing";
}

void use_known_blocks(Blocks wanted, MemoryPlan& plan) {
  if (wanted.count() <= 0) throw InputError({{}, 0, "kv_blocks"}, "must be positive");
  if (wanted > plan.blocks) {
    const std::int64_t missing = (wanted - plan.blocks).count();
    throw InputError({{}, 0, "kv_blocks"}, std::to_string(wanted.count()) +
                                               " blocks do not fit: " + std::to_string(plan.blocks.count()) + " do, " +
                                               both_units(missing * plan.block_bytes.count()) + " are missing");
  }
  plan.blocks = wanted;
}

}  // namespace

Dtypes published_dtypes(const ModelShape& model) {
  const bool quantised = bits_per_element(model.weight_dtype).numerator < 16;
  const DType activations = quantised ? DType::kBf16 : model.weight_dtype;
  return {model.weight_dtype, model.expert_dtype, activations, activations};
}

Bytes weight_bytes(const ModelShape& shard, const Dtypes& dtypes, WeightOptions options) {
  const MatrixCounts matrices = count_matrices(shard);
  const ParameterCounts counts = count_parameters(shard);
  const std::int64_t rest = counts.total - matrices.layers - matrices.experts;
  Bytes bytes = packed_bytes(matrices.layers, dtypes.weights) + packed_bytes(matrices.experts, dtypes.experts) +
                packed_bytes(rest, dtypes.activations);
  if (options.mtp_modules) bytes += packed_bytes(counts.mtp, dtypes.experts);
  return bytes;
}

std::int64_t kv_bits_per_token(const Attention& part, DType kv) {
  const std::int64_t elements =
      part.latent ? part.latent->kv_rank + part.latent->rope_dim : 2 * part.kv_heads * part.head_dim;
  const BitsPerElement bits = bits_per_element(kv);
  if (bits.denominator != 1) {
    throw InputError({{}, 0, "kv_dtype"}, std::string(dtype_name(kv)) + " is a format of weights, not of the KV cache");
  }
  return elements * bits.numerator;
}

std::int64_t kv_bits_per_token(const ModelShape& shard, DType kv) {
  std::int64_t bits = 0;
  for (const Layer& layer : shard.layers) bits += kv_bits_per_token(shard.attentions[layer.attention], kv);
  return bits;
}

Bytes kv_bytes(const ModelShape& shard, DType kv, Tokens tokens) {
  return Bytes{(kv_bits_per_token(shard, kv) * tokens.count() + 7) / 8};
}

Bytes kv_bytes_windowed(const ModelShape& shard, DType kv, Tokens tokens) {
  std::int64_t bits = 0;
  for (const Layer& layer : shard.layers) {
    const Attention& part = shard.attentions[layer.attention];
    const Tokens kept = part.window ? std::min(*part.window, tokens) : tokens;
    bits += kv_bits_per_token(part, kv) * kept.count();
  }
  return Bytes{(bits + 7) / 8};
}

Bytes activation_bytes(const ModelShape& shard, DType activations, Tokens batched_tokens, std::int64_t sampled_rows) {
  std::int64_t widest = 0;
  for (const Attention& part : shard.attentions) {
    const std::int64_t output = part.query_heads * (part.latent ? part.latent->value_dim : part.head_dim);
    widest = std::max(widest, (part.query_heads + 2 * part.kv_heads) * part.head_dim + output);
  }
  for (const FeedForward& part : shard.feed_forwards) {
    const std::int64_t experts =
        part.experts ? part.experts->per_token * part.experts->width + part.experts->shared_width : 0;
    widest = std::max(widest, (part.gated ? 3 : 2) * (part.width + experts));
  }
  const Bytes streams = packed_bytes(batched_tokens.count() * (2 * shard.hidden + widest), activations);
  return shard.has_head ? streams + packed_bytes(2 * sampled_rows * shard.vocab, DType::kFp32) : streams;
}

Tokens MemoryPlan::slots() const {
  const std::int64_t whole = kv.count() / kv_bits_per_token;  // in two parts: 8 · bytes may overflow
  return Tokens{8 * whole + kv.count() % kv_bits_per_token * 8 / kv_bits_per_token};
}

double MemoryPlan::sequences_at(Tokens context) const {
  return 8.0 * static_cast<double>(kv.count()) /
         (static_cast<double>(kv_bits_per_token) * static_cast<double>(context.count()));
}

std::int64_t MemoryPlan::paged_sequences_at(Tokens context, Blocks watermark) const {
  const Blocks usable_blocks = std::max(Blocks{0}, blocks - watermark);
  return usable_blocks / blocks_for(context + Tokens{1}, block_size);
}

MemoryPlan plan_memory(const ModelShape& shard, const Dtypes& dtypes, const MemoryBudget& budget) {
  check(budget);
  MemoryPlan plan;
  plan.capacity = budget.capacity;
  plan.usable =
      Bytes{static_cast<std::int64_t>(std::floor(static_cast<double>(budget.capacity.count()) * budget.utilisation))};
  plan.weights = weight_bytes(shard, dtypes, budget.weights);
  plan.activations = activation_bytes(shard, dtypes.activations, budget.batched_tokens, budget.sampled_rows);
  plan.reserve = budget.reserve;
  plan.kv = plan.usable - plan.weights - plan.activations - plan.reserve;
  plan.kv_bits_per_token = kv_bits_per_token(shard, dtypes.kv);
  plan.block_size = budget.block_size;
  plan.block_bytes = kv_bytes(shard, dtypes.kv, budget.block_size);
  if (plan.kv < plan.block_bytes) {
    throw InputError({{}, 0, "model"}, shortage_message(shard, plan, (plan.block_bytes - plan.kv).count()));
  }
  plan.blocks = Blocks{plan.kv / plan.block_bytes};
  if (budget.blocks) use_known_blocks(*budget.blocks, plan);
  return plan;
}

}  // namespace servecast
