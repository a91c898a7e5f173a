#include <cmath>
#include <numbers>

#include "kernels/reference/operators.hpp"

namespace servecast::kernels {
namespace {

double silu(double x) { return x / (1 + std::exp(-x)); }

// Hendrycks and Gimpel's approximation, which models mean by "gelu_pytorch_tanh".
double gelu(double x) {
  return x / 2 * (1 + std::tanh(std::sqrt(2 * std::numbers::inv_pi) * (x + 0.044715 * x * x * x)));
}

// x, or residual + x as the kernel stores it: the sum is rounded to the type before it is used.
std::vector<double> normalised_input(const RmsNorm& op, std::int64_t row) {
  std::vector<double> input(static_cast<std::size_t>(op.width));
  for (std::int64_t i = 0; i < op.width; ++i) {
    double value = load(op.type, op.x, row * op.width + i);
    if (op.adds_residual) {
      std::uint32_t rounded = 0;
      store(op.type, &rounded, 0, value + load(op.type, op.residual, row * op.width + i));
      value = load(op.type, &rounded, 0);
    }
    input[static_cast<std::size_t>(i)] = value;
  }
  return input;
}

}  // namespace

std::vector<Expected> reference_of(const RmsNorm& op, const RowSample& sample) {
  std::vector<Expected> expected;
  expected.push_back(by_rows("out", op.rows, op.width, sample, [&](std::int64_t row, double* out) {
    const auto input = normalised_input(op, row);
    double squares = 0;
    for (const double value : input) squares += value * value;
    const double factor = 1 / std::sqrt(squares / static_cast<double>(op.width) + op.epsilon);
    for (std::size_t i = 0; i < input.size(); ++i) {
      out[i] = input[i] * factor * load(op.type, op.weight, static_cast<std::int64_t>(i));
    }
  }));
  if (op.adds_residual) {
    expected.push_back(by_rows("residual", op.rows, op.width, sample, [&](std::int64_t row, double* out) {
      const auto input = normalised_input(op, row);
      std::copy(input.begin(), input.end(), out);
    }));
  }
  return expected;
}

std::vector<Expected> reference_of(const Activation& op, const RowSample& sample) {
  const std::int64_t stride = op.gated() ? 2 * std::int64_t{op.width} : op.width;
  return {by_rows("out", op.rows, op.width, sample, [&](std::int64_t row, double* out) {
    for (std::int64_t i = 0; i < op.width; ++i) {
      const double x = load(op.type, op.x, row * stride + i);
      const double active = op.kind == ActivationKind::kSiluMul ? silu(x) : gelu(x);
      out[i] = op.gated() ? active * load(op.type, op.x, row * stride + op.width + i) : active;
    }
  })};
}

std::vector<Expected> reference_of(const Embedding& op, const RowSample& sample) {
  Expected expected = by_rows("out", op.tokens, op.width, sample, [&](std::int64_t row, double* out) {
    for (std::int64_t i = 0; i < op.width; ++i)
      out[i] = load(op.type, op.table, op.ids[row] * std::int64_t{op.width} + i);
  });
  expected.exact = true;
  return {expected};
}

}  // namespace servecast::kernels
