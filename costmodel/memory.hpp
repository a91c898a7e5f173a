// What fits in a device: weights, KV cache, activations. Per device, after sharding (model.hpp: shard).
#pragma once

#include <cstdint>
#include <optional>

#include "costmodel/dtype.hpp"
#include "costmodel/model.hpp"
#include "sim/units.hpp"

namespace servecast {

struct Dtypes {
  DType weights = DType::kBf16;  // matrices of the layers, without experts and routers
  DType experts = DType::kBf16;  // matrices of the experts
  DType kv = DType::kBf16;
  DType activations = DType::kBf16;  // and embedding, LM head, routers, norms and biases
};

// The formats the model is published in, KV in those of the activations (16 bits unless it is published in fp32).
[[nodiscard]] Dtypes published_dtypes(const ModelShape& model);

struct WeightOptions {
  bool mtp_modules = false;
};

// Exact from the parameter counts; MTP modules count in the format of the experts.
[[nodiscard]] Bytes weight_bytes(const ModelShape& shard, const Dtypes& dtypes, WeightOptions options = {});

// Bits of KV cache that one token takes in one layer, and over all layers. Keys and values of every layer, also of
// those with a window: engines without per-kind pools keep them all, so this is the upper bound.
[[nodiscard]] std::int64_t kv_bits_per_token(const Attention& part, DType kv);
[[nodiscard]] std::int64_t kv_bits_per_token(const ModelShape& shard, DType kv);
// Rounded up to whole bytes once. Requires tokens below 2^34, far beyond any context.
[[nodiscard]] Bytes kv_bytes(const ModelShape& shard, DType kv, Tokens tokens);
// The same for one sequence when layers with a window keep only their window.
[[nodiscard]] Bytes kv_bytes_windowed(const ModelShape& shard, DType kv, Tokens tokens);

// Peak of what a forward pass holds besides weights and KV: two residual streams and the widest pair of
// neighbours in a layer for every token of the largest batch, and fp32 logits with their probabilities for the
// rows that sample. An estimate for engines that reuse buffers, as PyTorch's allocator does.
[[nodiscard]] Bytes activation_bytes(const ModelShape& shard, DType activations, Tokens batched_tokens,
                                     std::int64_t sampled_rows);

struct MemoryBudget {
  Bytes capacity;            // of one device
  double utilisation = 0.9;  // the share the engine may use
  Bytes reserve;             // what the engine keeps besides: CUDA context, graphs, collectives
  Tokens batched_tokens;     // largest step; 0: activations are not counted (the closed form)
  std::int64_t sampled_rows = 0;
  Tokens block_size{16};
  // The block count of a live engine, when it is known; it must fit.
  std::optional<Blocks> blocks;
  WeightOptions weights;
};

// A ledger whose rows add up: usable = weights + activations + reserve + kv.
struct MemoryPlan {
  Bytes capacity;
  Bytes usable;  // capacity · utilisation
  Bytes weights;
  Bytes activations;
  Bytes reserve;
  Bytes kv;  // what is left for the cache
  std::int64_t kv_bits_per_token = 0;
  Tokens block_size;
  Bytes block_bytes;
  Blocks blocks;  // all of them; what a scheduler may use of them is its own rule

  // Tokens that fit without blocks, for contiguous reservations.
  [[nodiscard]] Tokens slots() const;
  // Closed form: sequences of `context` tokens that fit, as a real number. Requires context > 0.
  [[nodiscard]] double sequences_at(Tokens context) const;
  // As a paged engine counts: whole blocks, `watermark` blocks left free, and room for the first decoded
  // token's KV, which comes after the prompt.
  [[nodiscard]] std::int64_t paged_sequences_at(Tokens context, Blocks watermark = Blocks{0}) const;
};

// Throws InputError that says by how much, in GB and GiB, when weights, activations and reserve leave no room
// for one block.
[[nodiscard]] MemoryPlan plan_memory(const ModelShape& shard, const Dtypes& dtypes, const MemoryBudget& budget);

}  // namespace servecast
