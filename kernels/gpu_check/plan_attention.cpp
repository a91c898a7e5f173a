#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "kernels/gpu_check/plan_parts.hpp"

namespace servecast::kernels::gpu_check {
namespace {

// Of one decode point: as much as a large GPU's cache of one layer.
constexpr std::int64_t kMostTokens = std::int64_t{2} << 20U;

struct BatchOf {
  std::int32_t sequences = 1;
  std::int32_t context = 1;
};

// The van der Corput sequence: fills [0, 1) evenly, whatever its length.
double spread(int index, int base) {
  double value = 0;
  double part = 1;
  for (; index > 0; index /= base) {
    part /= base;
    value += part * (index % base);
  }
  return value;
}

// Spread evenly over log₂ of 1 … 256 sequences and 128 … 32768 tokens.
std::vector<BatchOf> spread_batches(int count) {
  std::vector<BatchOf> batches;
  for (int i = 1; static_cast<int>(batches.size()) < count; ++i) {
    const BatchOf batch{static_cast<std::int32_t>(std::lround(std::exp2(8 * spread(i, 2)))),
                        static_cast<std::int32_t>(std::lround(std::exp2(7 + 8 * spread(i, 3))))};
    if (std::int64_t{1} * batch.sequences * batch.context <= kMostTokens) batches.push_back(batch);
  }
  return batches;
}

// One long sequence among short ones: what a step's critical path is made of.
std::vector<SequenceSpan> uneven(std::int32_t count, std::int32_t longest, std::int32_t others) {
  std::vector<SequenceSpan> sequences = even(count, 1, others);
  sequences.front().context = longest;
  return sequences;
}

void add_prefill(PlanBuilder& plan) {
  for (const std::int32_t query : {128, 512, 2048, 8192}) {
    for (const std::int32_t context : {0, 2048, 8192, 32768}) {
      plan.add("prefill", plan.prefill(kTarget, even(1, query, context)));
    }
  }
  for (const std::int32_t query : {512, 2048}) {
    for (const std::int32_t context : {0, 8192}) plan.add("prefill", plan.prefill(kDraft, even(1, query, context)));
  }
  plan.add("prefill", plan.prefill(kTarget, even(4, 512, 0)));
  plan.add("prefill", plan.prefill(kTarget, even(16, 128, 0)));
  plan.add("prefill", plan.prefill(kTarget, {{1024, 0}, {512, 0}, {256, 0}, {64, 0}}));
}

void add_decode(PlanBuilder& plan) {
  for (const BatchOf& batch : spread_batches(20)) {
    plan.add("decode", plan.decode(kTarget, even(batch.sequences, 1, batch.context)));
  }
  for (const BatchOf& batch : spread_batches(6)) {
    plan.add("decode", plan.decode(kDraft, even(batch.sequences, 1, batch.context)));
  }
  for (const std::int32_t count : {8, 32, 128}) {
    for (const std::int32_t longest : {8192, 32768})
      plan.add("decode", plan.decode(kTarget, uneven(count, longest, 512)));
  }
  if (!plan.target().quantised) return;
  for (const DType type : {DType::kFp8, DType::kInt8}) {
    for (const BatchOf& batch : {BatchOf{1, 8192}, BatchOf{16, 2048}, BatchOf{64, 4096}}) {
      DecodeAttention op = plan.decode(kTarget, even(batch.sequences, 1, batch.context));
      op.kv.type = type;
      plan.add("decode", op);
    }
  }
}

void add_verify(PlanBuilder& plan) {
  constexpr std::array<BatchOf, 5> kCorners{{{1, 512}, {1, 16384}, {16, 2048}, {64, 512}, {64, 4096}}};
  for (const std::int32_t tokens : {2, 4, 6, 8}) {
    for (const BatchOf& batch : kCorners) {
      plan.add("verify", plan.decode(kTarget, even(batch.sequences, tokens, batch.context)));
    }
  }
  for (const std::int32_t tokens : {15, 63}) {
    for (const std::int32_t count : {1, 16}) {
      DecodeAttention op = plan.decode(kTarget, even(count, tokens, 2048));
      op.tree = true;
      plan.add("verify", op);
    }
  }
}

// A chunk of a prompt beside sequences that decode, in one launch and in two: how do their times add up?
void add_mixed(PlanBuilder& plan, const ModelShape& model, std::int32_t chunk, std::int32_t count,
               std::int32_t context) {
  std::vector<SequenceSpan> together = even(count, 1, context);
  together.push_back({chunk, 0});
  plan.add("mixed_one_launch", plan.prefill(model, std::move(together)));
  const Operation prefill = plan.prefill(model, even(1, chunk, 0));
  const Operation decode = plan.decode(model, even(count, 1, context));
  plan.add("mixed_two_launches", std::vector<Operation>{prefill, decode});
}

void add_latent(PlanBuilder& plan) {
  if (!plan.target().latent) return;
  if (plan.target().smoke) {
    plan.add("latent", plan.latent(2, 40));
    return;
  }
  for (const BatchOf& batch : {BatchOf{1, 8192}, BatchOf{16, 2048}, BatchOf{64, 4096}, BatchOf{128, 1024}}) {
    plan.add("latent", plan.latent(batch.sequences, batch.context));
  }
}

void add_naive(PlanBuilder& plan, const ModelShape& model, std::initializer_list<std::int32_t> lengths) {
  for (const std::int32_t length : lengths) {
    NaiveAttention op;
    op.type = plan.target().type;
    op.heads = model.heads;
    op.kv_heads = model.kv_heads;
    op.head_dim = model.head_dim;
    op.query_tokens = length;
    op.key_tokens = length;
    op.scale = 1 / std::sqrt(static_cast<float>(model.head_dim));
    plan.add("naive", op);
  }
}

void add_smoke(PlanBuilder& plan) {
  plan.add("prefill", plan.prefill(kTiny, {{20, 0}, {9, 30}}));
  plan.add("decode", plan.decode(kTiny, uneven(3, 70, 20)));
  plan.add("verify", plan.decode(kTiny, even(2, 4, 33)));
  add_mixed(plan, kTiny, 16, 2, 20);
  add_naive(plan, kTiny, {24});
}

}  // namespace

void add_attention_points(PlanBuilder& plan) {
  add_latent(plan);
  if (plan.target().smoke) {
    add_smoke(plan);
    return;
  }
  add_prefill(plan);
  add_decode(plan);
  add_verify(plan);
  for (const std::int32_t chunk : {512, 2048}) {
    for (const std::int32_t count : {32, 128}) {
      for (const std::int32_t context : {2048, 8192}) add_mixed(plan, kTarget, chunk, count, context);
    }
  }
  add_naive(plan, kTarget, {512, 2048});
}

}  // namespace servecast::kernels::gpu_check
