// Matrix products y = x · wᵀ of a step: projections, MLPs, the LM head, and the experts of a mixture.
#pragma once

#include <cstdint>

#include "kernels/operators/operator.hpp"

namespace servecast::kernels {

enum class GemmMethod : std::uint8_t {
  kLibrary,  // cuBLASLt on CUDA
  kOwn,      // our kernel; the only one under emulation and on the CPU
};

enum class WeightLayout : std::uint8_t {
  kRows,    // [n][k]
  kPanels,  // the CPU set's packing: [⌈n/32⌉][k][32], the last panel filled with zeros
};

// Real weight = stored weight · scale. int8: one scale per row n. int4: one per group of `group` along k, [n][k/group].
// fp8: one for all weights; x is then quantised to fp8 by the caller with x_scale.
struct Gemm {
  GemmMethod method = GemmMethod::kOwn;
  DType type = DType::kBf16;         // of x and y; fp8: x is fp8, y is bf16
  DType weight_type = DType::kBf16;  // as `type`, or int8, int4 (dequantised in the kernel)
  WeightLayout layout = WeightLayout::kRows;
  std::int32_t m = 1;
  std::int32_t n = 1;
  std::int32_t k = 1;
  std::int32_t group = 128;  // int4 only; divides k
  float x_scale = 1;         // fp8 only
  float weight_scale = 1;    // fp8 only
  std::int64_t workspace_bytes = 0;
  const void* x = nullptr;        // [m][k]
  const void* weights = nullptr;  // see layout
  const float* scales = nullptr;  // int8 and int4 only
  void* workspace = nullptr;      // the library's; 32 MB let it choose freely
  void* y = nullptr;              // [m][n]

  [[nodiscard]] DType y_type() const { return type == DType::kFp8 ? DType::kBf16 : type; }
  [[nodiscard]] std::int64_t weight_elements() const {
    return layout == WeightLayout::kPanels ? ceil_div(n, 32) * 32 * k : std::int64_t{1} * n * k;
  }
  [[nodiscard]] std::int64_t scale_elements() const {
    if (weight_type == DType::kInt8) return n;
    return weight_type == DType::kInt4 ? std::int64_t{1} * n * (k / group) : 0;
  }
};

// One product per group of rows, each with its own weights: rows offsets[g] … offsets[g + 1] − 1 of y are rows of x
// times the weights of group g. Row r of y reads row `gather[r]` of x (the token that was routed there).
struct GroupedGemm {
  DType type = DType::kBf16;
  std::int32_t groups = 1;
  std::int32_t rows = 1;    // in all groups
  std::int32_t x_rows = 1;  // rows of x; as `rows` without gather
  std::int32_t n = 1;
  std::int32_t k = 1;
  bool gathers = false;
  const std::int32_t* offsets = nullptr;  // [groups + 1], from 0 to `rows`
  const std::int32_t* gather = nullptr;   // [rows]
  const void* x = nullptr;                // [x_rows][k]
  const void* weights = nullptr;          // [groups][n][k]
  void* y = nullptr;                      // [rows][n]
};

[[nodiscard]] Status validate(const Gemm& op);
[[nodiscard]] Status validate(const GroupedGemm& op);

[[nodiscard]] Work work(const Gemm& op);
[[nodiscard]] Work work(const GroupedGemm& op);  // weights of all groups

template <class Visit>
void for_each_buffer(Gemm& op, Visit&& visit) {
  visit(Buffer{"x", Role::kInput, op.type, std::int64_t{1} * op.m * op.k}, op.x);
  visit(Buffer{"weights", Role::kInput, op.weight_type, op.weight_elements()}, op.weights);
  visit(Buffer{"scales", Role::kInput, DType::kF32, op.scale_elements()}, op.scales);
  visit(Buffer{"workspace", Role::kWorkspace, DType::kInt8, op.workspace_bytes}, op.workspace);
  visit(Buffer{"y", Role::kOutput, op.y_type(), std::int64_t{1} * op.m * op.n}, op.y);
}

template <class Visit>
void for_each_buffer(GroupedGemm& op, Visit&& visit) {
  visit(Buffer{"offsets", Role::kInput, DType::kI32, op.groups + std::int64_t{1}}, op.offsets);
  visit(Buffer{"gather", Role::kInput, DType::kI32, op.gathers ? op.rows : 0}, op.gather);
  visit(Buffer{"x", Role::kInput, op.type, std::int64_t{1} * op.x_rows * op.k}, op.x);
  visit(Buffer{"weights", Role::kInput, op.type, std::int64_t{1} * op.groups * op.n * op.k}, op.weights);
  visit(Buffer{"y", Role::kOutput, op.type, std::int64_t{1} * op.rows * op.n}, op.y);
}

}  // namespace servecast::kernels
