// Operators that touch each element once: norms, activations, embedding.
#pragma once

#include <cstdint>

#include "kernels/operators/operator.hpp"

namespace servecast::kernels {

// out = x / √(mean(x²) + epsilon) · weight, row by row. With a residual, x is residual + x, and the sum, rounded to
// the type, is written back as the new residual before it is normalised.
struct RmsNorm {
  DType type = DType::kBf16;
  std::int32_t rows = 1;
  std::int32_t width = 1;
  float epsilon = 1e-5F;
  bool adds_residual = false;
  const void* x = nullptr;       // [rows][width]
  void* residual = nullptr;      // [rows][width]
  const void* weight = nullptr;  // [width]
  void* out = nullptr;           // [rows][width]
};

enum class ActivationKind : std::uint8_t {
  kSiluMul,  // silu(x[..width]) · x[width..]
  kGeluMul,  // gelu(x[..width]) · x[width..], the tanh form
  kGelu,     // gelu(x), the tanh form; plain MLPs
};

struct Activation {
  DType type = DType::kBf16;
  ActivationKind kind = ActivationKind::kSiluMul;
  std::int32_t rows = 1;
  std::int32_t width = 1;   // of the output
  const void* x = nullptr;  // [rows][2 · width] where it multiplies, [rows][width] else
  void* out = nullptr;      // [rows][width]

  [[nodiscard]] bool gated() const { return kind != ActivationKind::kGelu; }
};

// out[i] = table[ids[i]].
struct Embedding {
  DType type = DType::kBf16;
  std::int32_t tokens = 1;
  std::int32_t width = 1;
  std::int32_t vocabulary = 1;
  const std::int32_t* ids = nullptr;  // [tokens]
  const void* table = nullptr;        // [vocabulary][width]
  void* out = nullptr;                // [tokens][width]
};

[[nodiscard]] Status validate(const RmsNorm& op);
[[nodiscard]] Status validate(const Activation& op);
[[nodiscard]] Status validate(const Embedding& op);

[[nodiscard]] Work work(const RmsNorm& op);
[[nodiscard]] Work work(const Activation& op);
[[nodiscard]] Work work(const Embedding& op);

template <class Visit>
void for_each_buffer(RmsNorm& op, Visit&& visit) {
  const std::int64_t elements = std::int64_t{1} * op.rows * op.width;
  visit(Buffer{"x", Role::kInput, op.type, elements}, op.x);
  visit(Buffer{"residual", Role::kInOut, op.type, op.adds_residual ? elements : 0}, op.residual);
  visit(Buffer{"weight", Role::kInput, op.type, op.width}, op.weight);
  visit(Buffer{"out", Role::kOutput, op.type, elements}, op.out);
}

template <class Visit>
void for_each_buffer(Activation& op, Visit&& visit) {
  const std::int64_t elements = std::int64_t{1} * op.rows * op.width;
  visit(Buffer{"x", Role::kInput, op.type, op.gated() ? 2 * elements : elements}, op.x);
  visit(Buffer{"out", Role::kOutput, op.type, elements}, op.out);
}

template <class Visit>
void for_each_buffer(Embedding& op, Visit&& visit) {
  visit(Buffer{"ids", Role::kInput, DType::kI32, op.tokens}, op.ids);
  visit(Buffer{"table", Role::kInput, op.type, std::int64_t{1} * op.vocabulary * op.width}, op.table);
  visit(Buffer{"out", Role::kOutput, op.type, std::int64_t{1} * op.tokens * op.width}, op.out);
}

}  // namespace servecast::kernels
