#include <algorithm>
#include <cmath>

#include "kernels/cases/judgement.hpp"

namespace servecast::kernels {
namespace {

std::int64_t longest(std::span<const SequenceSpan> sequences) {
  std::int64_t most = 0;
  for (const SequenceSpan& span : sequences) most = std::max(most, std::int64_t{span.context} + span.query);
  return most;
}

// How many terms an element of the output sums.
std::int64_t terms(const PrefillAttention& op) { return longest(op.sequences); }
std::int64_t terms(const DecodeAttention& op) { return longest(op.sequences); }
std::int64_t terms(const LatentDecodeAttention& op) { return longest(op.sequences); }
std::int64_t terms(const NaiveAttention& op) { return op.key_tokens; }
std::int64_t terms(const RmsNorm& op) { return op.width; }
std::int64_t terms(const Gemm& op) { return op.k; }
std::int64_t terms(const GroupedGemm& op) { return op.k; }
template <class Op>
std::int64_t terms(const Op&) {
  return 1;
}

double bound(DType type, std::int64_t length) {
  if (type == DType::kBf16) return 4e-3;
  if (type == DType::kF16) return 1e-3;
  return 3e-6 * std::sqrt(static_cast<double>(std::max(length, std::int64_t{4096})) / 4096);
}

DType output_type(const Gemm& op) { return op.y_type(); }
// Integers and moved bytes are compared exactly.
DType output_type(const CopyBlocks&) { return DType::kInt8; }
DType output_type(const GatherBlocks&) { return DType::kInt8; }
DType output_type(const VerifyDraft&) { return DType::kI32; }
DType output_type(const RouteExperts&) { return DType::kF32; }
template <class Op>
DType output_type(const Op& op) {
  return op.type;
}

}  // namespace

double bound_of(const Operation& operation) {
  return std::visit([](const auto& op) { return bound(output_type(op), terms(op)); }, operation);
}

}  // namespace servecast::kernels
