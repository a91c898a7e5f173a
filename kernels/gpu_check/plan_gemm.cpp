#include <array>

#include "kernels/gpu_check/plan_parts.hpp"

namespace servecast::kernels::gpu_check {
namespace {

struct Weights {
  std::int32_t n = 0;
  std::int32_t k = 0;
  std::int32_t most_rows = 0;  // rows that a step brings at most
};

constexpr std::int32_t kMostTokens = 8192;
constexpr std::int32_t kMostSampled = 256;  // the LM head sees only the rows that sample

std::array<Weights, 5> weights_of(const ModelShape& model) {
  const std::int32_t attention = model.heads * model.head_dim;
  const std::int32_t qkv = attention + 2 * model.kv_heads * model.head_dim;
  return {{{qkv, model.hidden, kMostTokens},
           {model.hidden, attention, kMostTokens},
           {2 * model.intermediate, model.hidden, kMostTokens},
           {model.hidden, model.intermediate, kMostTokens},
           {model.vocabulary, model.hidden, kMostSampled}}};
}

void add_model(PlanBuilder& plan, const ModelShape& model, std::span<const std::int32_t> rows) {
  for (const Weights& weights : weights_of(model)) {
    for (const std::int32_t m : rows) {
      if (m <= weights.most_rows) plan.add("gemm", plan.gemm(m, weights.n, weights.k));
    }
  }
}

// The gate and up projection of the target, its weights quantised.
void add_quantised(PlanBuilder& plan, const ModelShape& model, std::span<const std::int32_t> rows) {
  for (const DType type : {DType::kFp8, DType::kInt8, DType::kInt4}) {
    for (const std::int32_t m : rows) {
      Gemm op = plan.gemm(m, 2 * model.intermediate, model.hidden);
      op.weight_type = type;
      if (type == DType::kFp8) op.type = type;
      if (type != DType::kFp8) op.method = GemmMethod::kOwn;
      if (op.method == GemmMethod::kOwn) op.workspace_bytes = 0;
      plan.add("gemm", op);
    }
  }
}

// Our own kernel beside the library's.
void add_own(PlanBuilder& plan, const ModelShape& model, std::span<const std::int32_t> rows) {
  for (const std::int32_t m : rows) {
    Gemm op = plan.gemm(m, model.hidden, model.hidden);
    op.method = GemmMethod::kOwn;
    op.workspace_bytes = 0;
    plan.add("gemm", op);
  }
}

}  // namespace

void add_gemm_points(PlanBuilder& plan) {
  constexpr std::array<std::int32_t, 12> kRows{1, 4, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192};
  constexpr std::array<std::int32_t, 4> kFewRows{1, 16, 64, 256};
  constexpr std::array<std::int32_t, 2> kSmokeRows{1, 17};
  if (plan.target().smoke) {
    add_model(plan, kTiny, kSmokeRows);
    return;
  }
  add_model(plan, kTarget, kRows);
  add_model(plan, kDraft, kRows);
  if (plan.target().quantised) add_quantised(plan, kTarget, kFewRows);
  if (plan.target().method == GemmMethod::kLibrary) add_own(plan, kTarget, kFewRows);
}

}  // namespace servecast::kernels::gpu_check
