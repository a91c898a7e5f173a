#include <algorithm>

#include "kernels/reference/operators.hpp"

namespace servecast::kernels {
namespace {

double weight(const Gemm& op, std::int64_t row, std::int64_t column) {
  if (op.layout == WeightLayout::kPanels) {
    return load(op.weight_type, op.weights, (row / 32 * op.k + column) * 32 + row % 32);
  }
  const double stored = load(op.weight_type, op.weights, row * op.k + column);
  if (op.weight_type == DType::kInt8) return stored * op.scales[row];
  if (op.weight_type == DType::kInt4) return stored * op.scales[row * (op.k / op.group) + column / op.group];
  return op.weight_type == DType::kFp8 ? stored * op.weight_scale : stored;
}

// Σ x[row][i] · weights[i], where weights are read by column.
template <class Weight>
double product(DType type, const void* x, std::int64_t row, std::int64_t k, Weight&& weight_at) {
  double sum = 0;
  for (std::int64_t i = 0; i < k; ++i) sum += load(type, x, row * k + i) * weight_at(i);
  return sum;
}

}  // namespace

std::vector<Expected> reference_of(const Gemm& op, const RowSample& sample) {
  const double x_scale = op.type == DType::kFp8 ? op.x_scale : 1;
  return {by_rows("y", op.m, op.n, sample, [&](std::int64_t row, double* out) {
    for (std::int64_t column = 0; column < op.n; ++column) {
      out[column] = x_scale * product(op.type, op.x, row, op.k, [&](std::int64_t i) { return weight(op, column, i); });
    }
  })};
}

std::vector<Expected> reference_of(const GroupedGemm& op, const RowSample& sample) {
  return {by_rows("y", op.rows, op.n, sample, [&](std::int64_t row, double* out) {
    const auto* next = std::upper_bound(op.offsets, op.offsets + op.groups + 1, static_cast<std::int32_t>(row));
    const std::int64_t group = next - op.offsets - 1;
    const std::int64_t from = op.gathers ? op.gather[row] : row;
    for (std::int64_t column = 0; column < op.n; ++column) {
      const std::int64_t first = (group * op.n + column) * op.k;
      out[column] =
          product(op.type, op.x, from, op.k, [&](std::int64_t i) { return load(op.type, op.weights, first + i); });
    }
  })};
}

}  // namespace servecast::kernels
