#include "kernels/gpu_check/plan.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/cases/inputs.hpp"
#include "kernels/gpu_check/plan_parts.hpp"

namespace servecast::kernels::gpu_check {
namespace {

constexpr std::int32_t kPageSize = 16;
constexpr std::int64_t kWorkspace = std::int64_t{32} << 20U;  // lets the library choose freely
constexpr std::int32_t kCachedTokens = 65536;                 // of the cache that appends go to
constexpr std::int32_t kPositions = 32768;

}  // namespace

std::vector<SequenceSpan> even(std::int32_t count, std::int32_t query, std::int32_t context) {
  return std::vector<SequenceSpan>(static_cast<std::size_t>(count), SequenceSpan{query, context});
}

void PlanBuilder::add(std::string_view group, const Operation& operation) {
  add(group, std::vector<Operation>{operation});
}

void PlanBuilder::add(std::string_view group, std::vector<Operation> operations) {
  add_graph(group, std::move(operations), {}, 1);
  points_.back().held_out = false;
}

void PlanBuilder::add_graph(std::string_view group, std::vector<Operation> body, std::vector<Operation> tail,
                            std::int32_t times) {
  Point point;
  point.group = group;
  point.body = std::move(body);
  point.tail = std::move(tail);
  point.times = times;
  point.held_out = true;
  point.sequences = std::exchange(pending_, {});
  points_.push_back(std::move(point));
}

std::span<const SequenceSpan> PlanBuilder::keep(std::vector<SequenceSpan> sequences) {
  pending_.push_back(std::make_shared<const std::vector<SequenceSpan>>(std::move(sequences)));
  return *pending_.back();
}

PagedKv PlanBuilder::cache(const ModelShape& model) const {
  PagedKv kv;
  kv.type = target_.type;
  kv.kv_heads = model.kv_heads;
  kv.head_dim = model.head_dim;
  kv.page_size = kPageSize;
  return kv;
}

Gemm PlanBuilder::gemm(std::int32_t m, std::int32_t n, std::int32_t k) const {
  Gemm op;
  op.method = target_.method;
  op.type = target_.type;
  op.weight_type = target_.type;
  op.layout = target_.layout;
  op.m = m;
  op.n = n;
  op.k = k;
  if (op.method == GemmMethod::kLibrary) op.workspace_bytes = kWorkspace;
  return op;
}

PrefillAttention PlanBuilder::prefill(const ModelShape& model, std::vector<SequenceSpan> sequences) {
  PrefillAttention op;
  op.type = target_.type;
  op.heads = model.heads;
  op.scale = 1 / std::sqrt(static_cast<float>(model.head_dim));
  op.sequences = keep(std::move(sequences));
  op.kv = cache(model);
  complete(op);
  return op;
}

DecodeAttention PlanBuilder::decode(const ModelShape& model, std::vector<SequenceSpan> sequences) {
  DecodeAttention op;
  op.type = target_.type;
  op.heads = model.heads;
  op.tokens = sequences.front().query;
  op.scale = 1 / std::sqrt(static_cast<float>(model.head_dim));
  op.sequences = keep(std::move(sequences));
  op.kv = cache(model);
  std::int64_t longest = 0;
  for (const SequenceSpan& span : op.sequences) longest = std::max<std::int64_t>(longest, span.context);
  const auto rows = static_cast<std::int64_t>(op.sequences.size()) * model.kv_heads;
  op.splits = splits_for(rows, longest, target_.processors);
  complete(op);
  return op;
}

LatentDecodeAttention PlanBuilder::latent(std::int32_t count, std::int32_t context) {
  LatentDecodeAttention op;
  op.type = target_.type;
  op.heads = target_.smoke ? 16 : 128;  // 128: models/deepseek-v3.json
  op.scale = 1 / std::sqrt(static_cast<float>(128 + op.rope));
  op.sequences = keep(even(count, 1, context));
  op.splits = splits_for(count, context, target_.processors);
  complete(op);
  return op;
}

AppendKv PlanBuilder::append(const ModelShape& model, std::int32_t tokens) const {
  AppendKv op;
  op.type = target_.type;
  op.tokens = tokens;
  op.heads = model.heads;
  op.rotary = model.head_dim;
  op.max_position = target_.smoke ? 256 : kPositions;
  op.kv = cache(model);
  op.kv.pages = (target_.smoke ? 1024 : kCachedTokens) / kPageSize;
  return op;
}

RmsNorm PlanBuilder::norm(const ModelShape& model, std::int32_t rows) const {
  RmsNorm op;
  op.type = target_.type;
  op.rows = rows;
  op.width = model.hidden;
  op.adds_residual = true;
  return op;
}

Activation PlanBuilder::activation(const ModelShape& model, std::int32_t rows) const {
  Activation op;
  op.type = target_.type;
  op.rows = rows;
  op.width = model.intermediate;
  return op;
}

Embedding PlanBuilder::embedding(const ModelShape& model, std::int32_t tokens) const {
  Embedding op;
  op.type = target_.type;
  op.tokens = tokens;
  op.width = model.hidden;
  op.vocabulary = model.vocabulary;
  return op;
}

Sample PlanBuilder::sample(const ModelShape& model, std::int32_t rows) const {
  Sample op;
  op.type = target_.type;
  op.rows = rows;
  op.vocabulary = model.vocabulary;
  return op;
}

std::vector<Point> measuring_plan(const PlanTarget& target) {
  std::vector<Point> points;
  PlanBuilder plan(target, points);
  add_gemm_points(plan);
  add_attention_points(plan);
  add_elementwise_points(plan);
  add_expert_points(plan);
  return points;
}

}  // namespace servecast::kernels::gpu_check
