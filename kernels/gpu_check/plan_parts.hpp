// What the plan is put together from.
#pragma once

#include <span>
#include <vector>

#include "kernels/gpu_check/plan.hpp"

namespace servecast::kernels::gpu_check {

// From models/llama-3.1-8b.json, models/llama-3.2-1b.json and models/mixtral-8x7b.json.
inline constexpr ModelShape kTarget{"llama-3.1-8b", 32, 4096, 32, 8, 128, 14336, 128256};
inline constexpr ModelShape kDraft{"llama-3.2-1b", 16, 2048, 32, 8, 64, 8192, 128256};
// Small enough for a processor or an emulator.
inline constexpr ModelShape kTiny{"tiny", 2, 128, 4, 2, 64, 192, 640};

// `count` sequences that each add `query` tokens to `context`.
[[nodiscard]] std::vector<SequenceSpan> even(std::int32_t count, std::int32_t query, std::int32_t context);

// Appends points to a plan and keeps what their spans point to.
class PlanBuilder {
 public:
  PlanBuilder(const PlanTarget& target, std::vector<Point>& points) : target_(target), points_(points) {}

  [[nodiscard]] const PlanTarget& target() const { return target_; }
  void add(std::string_view group, const Operation& operation);
  void add(std::string_view group, std::vector<Operation> operations);
  void add_graph(std::string_view group, std::vector<Operation> body, std::vector<Operation> tail, std::int32_t times);

  // Operations of a model, of this target's types.
  [[nodiscard]] Gemm gemm(std::int32_t m, std::int32_t n, std::int32_t k) const;
  [[nodiscard]] PrefillAttention prefill(const ModelShape& model, std::vector<SequenceSpan> sequences);
  // All sequences add equally many tokens: those of the first.
  [[nodiscard]] DecodeAttention decode(const ModelShape& model, std::vector<SequenceSpan> sequences);
  [[nodiscard]] LatentDecodeAttention latent(std::int32_t count, std::int32_t context);
  [[nodiscard]] AppendKv append(const ModelShape& model, std::int32_t tokens) const;
  [[nodiscard]] RmsNorm norm(const ModelShape& model, std::int32_t rows) const;
  [[nodiscard]] Activation activation(const ModelShape& model, std::int32_t rows) const;
  [[nodiscard]] Embedding embedding(const ModelShape& model, std::int32_t tokens) const;
  [[nodiscard]] Sample sample(const ModelShape& model, std::int32_t rows) const;

 private:
  [[nodiscard]] PagedKv cache(const ModelShape& model) const;
  std::span<const SequenceSpan> keep(std::vector<SequenceSpan> sequences);

  PlanTarget target_;
  std::vector<Point>& points_;
  std::vector<std::shared_ptr<const std::vector<SequenceSpan>>> pending_;  // of the point that is being built
};

void add_gemm_points(PlanBuilder& plan);
void add_attention_points(PlanBuilder& plan);
void add_elementwise_points(PlanBuilder& plan);
void add_expert_points(PlanBuilder& plan);

}  // namespace servecast::kernels::gpu_check
