#include "kernels/operators/experts.hpp"

#include "kernels/operators/check.hpp"

namespace servecast::kernels {
namespace {

double real(std::int64_t value) { return static_cast<double>(value); }

}  // namespace

Status validate(const RouteExperts& op) {
  Check check("route_experts");
  check.at_least("tokens", op.tokens, 1).within("experts", op.experts, 1, 512).within("chosen", op.chosen, 1, 16);
  check.that(op.chosen <= op.experts, "more experts are chosen than there are");
  check.within("tokens times chosen", std::int64_t{1} * op.tokens * op.chosen, 1, std::int64_t{0x7FFFFFFF});
  return check.operands(op);
}

Status validate(const CombineExperts& op) {
  Check check("combine_experts");
  check.real("type", op.type).at_least("tokens", op.tokens, 1).within("chosen", op.chosen, 1, 16);
  check.at_least("width", op.width, 1).fits("rows", {op.tokens, op.chosen, op.width});
  check.within("tokens times chosen", std::int64_t{1} * op.tokens * op.chosen, 1, std::int64_t{0x7FFFFFFF});
  return check.operands(op);
}

Work work(const RouteExperts& op) {
  // Logits read; weights, choices, positions and gathered tokens written, four bytes each.
  return {0, 4 * real(op.tokens) * (real(op.experts) + 4 * real(op.chosen)) + 4 * (real(op.experts) + 1)};
}

Work work(const CombineExperts& op) {
  const double rows = real(op.tokens) * real(op.chosen);
  return {0, real(bytes_of(op.type, 1)) * (rows + real(op.tokens)) * real(op.width) + 8 * rows};
}

}  // namespace servecast::kernels
