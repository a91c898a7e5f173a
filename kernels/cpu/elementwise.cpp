#include <algorithm>
#include <cmath>

#include "kernels/cpu/operators.hpp"

namespace servecast::kernels::cpu {

void run(const RmsNorm& op, Runtime& runtime) {
  const auto* weight = static_cast<const float*>(op.weight);
  runtime.pool().for_each(op.rows, [&](std::int64_t row, std::int32_t) {
    const std::int64_t first = row * op.width;
    const float* x = static_cast<const float*>(op.x) + first;
    if (op.adds_residual) {
      float* residual = static_cast<float*>(op.residual) + first;
      for (std::int64_t i = 0; i < op.width; ++i) residual[i] += x[i];
      x = residual;
    }
    const float squares = runtime.micro().sum_of_squares(x, op.width);
    const float factor = 1 / std::sqrt(squares / static_cast<float>(op.width) + op.epsilon);
    float* out = static_cast<float*>(op.out) + first;
    for (std::int64_t i = 0; i < op.width; ++i) out[i] = x[i] * factor * weight[i];
  });
}

void run(const Activation& op, Runtime& runtime) {
  const Curve curve = op.kind == ActivationKind::kSiluMul ? Curve::kSilu : Curve::kGelu;
  const std::int64_t stride = op.gated() ? 2 * std::int64_t{op.width} : op.width;
  runtime.pool().for_each(op.rows, [&](std::int64_t row, std::int32_t) {
    const float* x = static_cast<const float*>(op.x) + row * stride;
    float* out = static_cast<float*>(op.out) + row * op.width;
    runtime.micro().activate(curve, x, op.gated() ? x + op.width : nullptr, op.width, out);
  });
}

void run(const Embedding& op, Runtime& runtime) {
  runtime.pool().for_each(op.tokens, [&](std::int64_t token, std::int32_t) {
    const float* from = static_cast<const float*>(op.table) + std::int64_t{op.ids[token]} * op.width;
    std::copy(from, from + op.width, static_cast<float*>(op.out) + token * op.width);
  });
}

}  // namespace servecast::kernels::cpu
