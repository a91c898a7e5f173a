// The operators of one step on one device, with their FLOPs and bytes. Work is counted here and nowhere else: the
// roofline, the tables of `servecast model` and measured profiles all read this list.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "costmodel/collective.hpp"
#include "costmodel/memory.hpp"
#include "costmodel/model.hpp"
#include "sim/step.hpp"

namespace servecast {

// Doubles: FLOPs of long prefills pass 2^63, and expected experts are fractions. Integers below 2^53 stay exact.
struct Work {
  double flops = 0;
  double weight_bytes = 0;
  double kv_bytes = 0;  // cached keys and values read, new ones written
  double activation_bytes = 0;
  double link_bytes = 0;  // sent by this device to others

  [[nodiscard]] double memory_bytes() const { return weight_bytes + kv_bytes + activation_bytes; }
  Work& operator+=(const Work& other);
  friend Work operator*(const Work& work, double times);
};

enum class OperatorFamily : std::uint8_t { kGemm, kExperts, kPrefillAttention, kDecodeAttention, kElementwise, kLink };

// What the work of an operator depends on; each part can be remembered on its own.
enum class StepPart : std::uint8_t { kTokens, kSampledRows, kPrefill, kDecode };

struct Operator {
  std::string_view name;
  OperatorFamily family = OperatorFamily::kElementwise;
  StepPart part = StepPart::kTokens;
  DType operands = DType::kBf16;                   // the weights' type, for attention the activations'
  double times = 1;                                // launches per step
  Work work;                                       // of one launch
  double rows = 0;                                 // decode attention: sequences times key-value heads
  Collective collective = Collective::kAllReduce;  // of the family kLink
  double message_bytes = 0;                        // likewise: what every rank holds (collectives.hpp)

  [[nodiscard]] Work total() const { return work * times; }
};

// Work of one attention kernel, without its name: what the hot path needs.
struct AttentionWork {
  double flops = 0;
  double kv_bytes = 0;
  double activation_bytes = 0;
  double rows = 0;
};

// Expected number of the experts held here that `tokens` touch when each picks `per_token` of all of them evenly:
// E · (1 − (1 − k/E)^T), over the ranks that share them.
[[nodiscard]] double expected_experts(const Experts& experts, std::int64_t tokens);

// The share of tokens that need any of the experts held here: 1 − C(E − e, k) / C(E, k).
[[nodiscard]] double share_of_tokens(const Experts& experts);

// How much more than the mean the fullest of `ranks` gets when `assignments` fall on them evenly at random: the
// expected largest of independent normal variables, 1 + sqrt(2 (1 − 1/R) ln R / mean), between one assignment and all
// of them. Real routers are less even than that: it is what no balancing can avoid.
[[nodiscard]] double expected_imbalance(double assignments, std::int64_t ranks);

// Query-key pairs of a causal chunk: tokens · context + tokens · (tokens + 1) / 2, each token's keys cut at the
// window. Closed form (no loop over tokens).
[[nodiscard]] double causal_pairs(const PrefillChunk& chunk, const std::optional<Tokens>& window);

class StepWork {
 public:
  // Per kind of attention, what its two kernels cost per pair, key, token and sequence.
  struct AttentionKind {
    std::optional<Tokens> window;
    double layers;
    double prefill_flops_per_pair;
    double prefill_flops_per_context;  // latent attention expands cached latents again
    double decode_flops_per_key;
    double kv_bytes_per_token;
    double prefill_bytes_per_token;  // queries, outputs, and the keys and values just projected
    double decode_bytes_per_token;
    double rows_per_sequence;
  };

  // `model` is a whole model, or a stage of one (stage_of); work is that of one rank. With data parallelism a shape is
  // that of one copy of the attention, the others are taken to run as many tokens, and the work is the fullest rank's.
  // Throws InputError where it does not divide.
  StepWork(const ModelShape& model, const Dtypes& dtypes, const Sharding& sharding);
  StepWork(const ModelShape& model, const Dtypes& dtypes, std::int64_t ranks)
      : StepWork(model, dtypes, Sharding{ranks}) {}

  [[nodiscard]] const ModelShape& shard() const { return shard_; }

  // Everything except attention and what follows the last layer: depends on the number of tokens only.
  void append_token_operators(std::int64_t tokens, std::vector<Operator>& list) const;
  // LM head and sampling: depends on the number of rows that sample.
  void append_sampled_operators(std::int64_t rows, std::vector<Operator>& list) const;
  // One kernel per kind of attention; kinds are those of ModelShape::attentions.
  [[nodiscard]] const std::vector<AttentionKind>& attention_kinds() const { return kinds_; }
  [[nodiscard]] Operator prefill_attention(std::size_t kind, std::span<const PrefillChunk> chunks) const;
  [[nodiscard]] Operator decode_attention(std::size_t kind, const StepShape& shape) const;

  // The whole step, in the order of the parts.
  [[nodiscard]] std::vector<Operator> operators(const StepShape& shape) const;

 private:
  [[nodiscard]] AttentionKind attention_kind(std::size_t kind) const;
  [[nodiscard]] Operator gemm(std::string_view name, DType weights, double layers, double tokens, double in,
                              double out) const;
  [[nodiscard]] Operator attention(std::string_view name, OperatorFamily family, StepPart part, double layers,
                                   const AttentionWork& work) const;
  [[nodiscard]] Operator elementwise(std::string_view name, double times, double activation_elements) const;
  void append_attention_projections(std::size_t kind, double tokens, std::vector<Operator>& list) const;
  void append_latent_projections(const Attention& part, double layers, double tokens,
                                 std::vector<Operator>& list) const;
  void append_feed_forward(std::size_t kind, std::int64_t tokens, std::vector<Operator>& list) const;
  void append_experts(const FeedForward& part, double layers, std::int64_t tokens, std::vector<Operator>& list) const;
  [[nodiscard]] Operator link(std::string_view name, Collective collective, double times, double message_bytes,
                              double sent_bytes) const;
  void append_mlp(std::string_view up, std::string_view activation, std::string_view down, double layers, double tokens,
                  double width, bool gated, double vectors, std::vector<Operator>& list) const;

  ModelShape shard_;
  Dtypes dtypes_;
  Sharding sharding_;
  double activation_bytes_;  // of one element
  std::vector<AttentionKind> kinds_;
};

[[nodiscard]] AttentionWork prefill_work(const StepWork::AttentionKind& cost, std::span<const PrefillChunk> chunks);

[[nodiscard]] inline AttentionWork decode_work(const StepWork::AttentionKind& cost, const StepShape& shape) {
  const auto keys = static_cast<double>((cost.window ? shape.decode_window_context : shape.decode_context).count());
  const auto sequences = static_cast<double>(shape.decode_sequences);
  // The newest key of each sequence was written in this step (rope_and_kv_write) and is read like an activation.
  return {cost.decode_flops_per_key * keys, cost.kv_bytes_per_token * (keys - sequences),
          (cost.decode_bytes_per_token + cost.kv_bytes_per_token) * sequences, cost.rows_per_sequence * sequences};
}

[[nodiscard]] inline std::int64_t tokens_of(const StepShape& shape) {
  std::int64_t tokens = shape.decode_sequences;
  for (const PrefillChunk& chunk : shape.prefills) tokens += chunk.tokens.count();
  return tokens;
}

}  // namespace servecast
