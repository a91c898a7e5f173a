#include "kernels/operators/elementwise.hpp"

#include "kernels/operators/check.hpp"

namespace servecast::kernels {
namespace {

double real(std::int64_t value) { return static_cast<double>(value); }

}  // namespace

Status validate(const RmsNorm& op) {
  Check check("rms_norm");
  check.real("type", op.type).at_least("rows", op.rows, 1).at_least("width", op.width, 1);
  check.that(op.epsilon >= 0, "epsilon is not zero or more").fits("x", {op.rows, op.width});
  return check.operands(op);
}

Status validate(const Activation& op) {
  Check check("activation");
  check.real("type", op.type).at_least("rows", op.rows, 1).at_least("width", op.width, 1);
  check.fits("x", {op.rows, op.width, 2});
  return check.operands(op);
}

Status validate(const Embedding& op) {
  Check check("embedding");
  check.real("type", op.type).at_least("tokens", op.tokens, 1).at_least("width", op.width, 1);
  check.at_least("vocabulary", op.vocabulary, 1);
  check.fits("out", {op.tokens, op.width}).fits("the table", {op.vocabulary, op.width});
  return check.operands(op);
}

Work work(const RmsNorm& op) {
  const double passes = op.adds_residual ? 4 : 2;
  return {0, real(bytes_of(op.type, 1)) * real(op.width) * (passes * real(op.rows) + 1)};
}

Work work(const Activation& op) {
  return {0, real(bytes_of(op.type, 1)) * real(op.rows) * real(op.width) * (op.gated() ? 3 : 2)};
}

Work work(const Embedding& op) { return {0, 2 * real(bytes_of(op.type, 1)) * real(op.tokens) * real(op.width)}; }

}  // namespace servecast::kernels
