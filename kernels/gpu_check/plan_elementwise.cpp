#include <array>

#include "kernels/gpu_check/plan_parts.hpp"

namespace servecast::kernels::gpu_check {
namespace {

constexpr std::int64_t kBlockBytes = std::int64_t{16} * 8 * 128 * 2;  // keys of 16 tokens, 8 heads of 128, 2 bytes

void add_rows(PlanBuilder& plan, const ModelShape& model, std::span<const std::int32_t> rows) {
  for (const std::int32_t m : rows) {
    plan.add("elementwise", plan.norm(model, m));
    plan.add("elementwise", plan.activation(model, m));
    plan.add("elementwise", plan.embedding(model, m));
    plan.add("elementwise", plan.append(model, m));
  }
}

// Greedy, and by nucleus. Logits are uniform in [−1, 1]; at this temperature a few per cent of them are the nucleus.
constexpr float kTemperature = 0.05F;

void add_sampling(PlanBuilder& plan, const ModelShape& model, std::span<const std::int32_t> rows) {
  for (const std::int32_t m : rows) {
    Sample op = plan.sample(model, m);
    plan.add("sampling", op);
    op.temperature = kTemperature;
    op.top_k = 50;
    plan.add("sampling", op);
    op.top_k = 0;
    op.top_p = 0.9F;
    plan.add("sampling", op);
    VerifyDraft verify;
    verify.sequences = m;
    verify.drafted = 4;
    verify.vocabulary = model.vocabulary;
    plan.add("sampling", verify);
  }
}

void add_blocks(PlanBuilder& plan, std::span<const std::int32_t> counts) {
  for (const std::int32_t count : counts) {
    CopyBlocks copy;
    copy.pairs = count;
    copy.blocks = 4 * count;
    copy.block_bytes = kBlockBytes;
    plan.add("blocks", copy);
    GatherBlocks gather;
    gather.count = count;
    gather.blocks = 4 * count;
    gather.block_bytes = kBlockBytes;
    plan.add("blocks", gather);
    gather.scatter = true;
    plan.add("blocks", gather);
  }
}

}  // namespace

void add_elementwise_points(PlanBuilder& plan) {
  constexpr std::array<std::int32_t, 5> kRows{1, 16, 128, 1024, 8192};
  constexpr std::array<std::int32_t, 4> kSampled{1, 16, 64, 256};
  constexpr std::array<std::int32_t, 3> kBlocks{1, 32, 1024};
  constexpr std::array<std::int32_t, 1> kSmoke{3};
  if (plan.target().smoke) {
    add_rows(plan, kTiny, kSmoke);
    add_sampling(plan, kTiny, kSmoke);
    add_blocks(plan, kSmoke);
    return;
  }
  add_rows(plan, kTarget, kRows);
  add_sampling(plan, kTarget, kSampled);
  add_blocks(plan, kBlocks);
}

}  // namespace servecast::kernels::gpu_check
