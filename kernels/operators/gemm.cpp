#include "kernels/operators/gemm.hpp"

#include "kernels/operators/check.hpp"

namespace servecast::kernels {
namespace {

double real(std::int64_t value) { return static_cast<double>(value); }

double bytes(DType type, double elements) { return elements * real(bytes_of(type, 2)) / 2; }

void check_weights(const Gemm& op, Check& check) {
  if (op.type == DType::kFp8) {
    check.that(op.weight_type == DType::kFp8, "x is fp8, and the weights are not");
    check.that(op.x_scale > 0 && op.weight_scale > 0, "an fp8 scale is not positive");
  } else {
    check.real("type", op.type);
    check.that(op.weight_type == op.type || op.weight_type == DType::kInt8 || op.weight_type == DType::kInt4,
               "the weights are neither of x's type nor int8 nor int4");
  }
  if (op.weight_type == DType::kInt4) {
    check.at_least("group", op.group, 1).that(op.group > 0 && op.k % op.group == 0, "group does not divide k");
    check.that(op.k % 2 == 0, "k is odd, and a row of int4 weights ends inside a byte");
  }
  check.that(op.layout == WeightLayout::kRows || op.weight_type == DType::kF32, "panels hold f32 weights only");
}

}  // namespace

Status validate(const Gemm& op) {
  Check check("gemm");
  check.at_least("m", op.m, 1).at_least("n", op.n, 1).at_least("k", op.k, 1);
  check.at_least("workspace_bytes", op.workspace_bytes, 0);
  check_weights(op, check);
  check.fits("x", {op.m, op.k}).fits("the weights", {std::int64_t{op.n} + 31, op.k}).fits("y", {op.m, op.n});
  return check.operands(op);
}

Status validate(const GroupedGemm& op) {
  Check check("grouped_gemm");
  check.real("type", op.type).at_least("groups", op.groups, 1).at_least("rows", op.rows, 1);
  check.at_least("x_rows", op.x_rows, 1).at_least("n", op.n, 1).at_least("k", op.k, 1);
  check.that(op.gathers || op.x_rows == op.rows, "without gather, x has as many rows as y");
  check.fits("x", {op.x_rows, op.k}).fits("the weights", {op.groups, op.n, op.k}).fits("y", {op.rows, op.n});
  return check.operands(op);
}

// Scales are not counted: they are below a hundredth of the weights.
Work work(const Gemm& op) {
  const double m = real(op.m);
  const double n = real(op.n);
  const double k = real(op.k);
  return {2 * m * n * k, bytes(op.weight_type, n * k) + bytes(op.type, m * k) + bytes(op.y_type(), m * n)};
}

Work work(const GroupedGemm& op) {
  const double n = real(op.n);
  const double k = real(op.k);
  const double elements = real(op.groups) * n * k + real(op.x_rows) * k + real(op.rows) * n;
  return {2 * real(op.rows) * n * k, bytes(op.type, elements)};
}

}  // namespace servecast::kernels
