#include "kernels/gpu_check/library_cases.hpp"

#include <array>

#include "kernels/cases/lists.hpp"

namespace servecast::kernels::gpu_check {
namespace {

constexpr std::int32_t kFirstWithBf16 = 80;
constexpr std::int32_t kFirstWithFp8 = 89;
constexpr std::int64_t kWorkspace = std::int64_t{4} << 20U;  // the library's own, beside dequantised weights

struct Kind {
  DType type = DType::kF16;
  DType weight_type = DType::kF16;
};

std::vector<Kind> kinds_of(std::int32_t architecture) {
  const bool has_bf16 = architecture >= kFirstWithBf16;
  const DType type = has_bf16 ? DType::kBf16 : DType::kF16;
  std::vector<Kind> kinds{{DType::kF16, DType::kF16}, {type, DType::kInt8}, {type, DType::kInt4}};
  if (has_bf16) kinds.push_back({DType::kBf16, DType::kBf16});
  if (architecture >= kFirstWithFp8) kinds.push_back({DType::kFp8, DType::kFp8});
  return kinds;
}

// One row as a single sequence decodes, an odd number of them, and whole tiles. n and k are multiples of 16, which fp8
// needs, and k of the groups of int4.
constexpr std::array<std::array<std::int32_t, 3>, 4> kSizes{
    {{1, 192, 640}, {17, 64, 128}, {64, 256, 384}, {65, 192, 256}}};

CaseShape library_case(const Kind& kind, const std::array<std::int32_t, 3>& sizes) {
  Gemm op;
  op.method = GemmMethod::kLibrary;
  op.type = kind.type;
  op.weight_type = kind.weight_type;
  op.m = sizes[0];
  op.n = sizes[1];
  op.k = sizes[2];
  op.workspace_bytes = kWorkspace;
  if (kind.type != kind.weight_type) op.workspace_bytes += bytes_of(kind.type, std::int64_t{1} * op.n * op.k);
  if (kind.type == DType::kFp8) {
    op.x_scale = 0.02F;
    op.weight_scale = 0.004F;
  }
  return {describe(op, {}), op, {}, 1};
}

}  // namespace

std::vector<CaseShape> library_cases(std::int32_t architecture) {
  std::vector<CaseShape> cases;
  for (const Kind& kind : kinds_of(architecture)) {
    for (const auto& sizes : kSizes) cases.push_back(library_case(kind, sizes));
  }
  return cases;
}

}  // namespace servecast::kernels::gpu_check
