// Mixture of experts around its grouped products: which token goes where, and how the answers come back.
#pragma once

#include <cstdint>

#include "kernels/operators/operator.hpp"

namespace servecast::kernels {

// Softmax over all experts, the `chosen` largest (ties: the lower index), their weights renormalised to 1 if asked;
// then the (token, choice) pairs sorted by expert, stable by token.
struct RouteExperts {
  std::int32_t tokens = 1;
  std::int32_t experts = 1;  // at most 512
  std::int32_t chosen = 1;   // at most 16
  bool renormalise = true;
  const float* logits = nullptr;      // [tokens][experts]
  float* weights = nullptr;           // [tokens][chosen], by falling weight
  std::int32_t* choices = nullptr;    // [tokens][chosen]
  std::int32_t* offsets = nullptr;    // [experts + 1]: where each expert's rows begin
  std::int32_t* gather = nullptr;     // [tokens · chosen]: the token of each row
  std::int32_t* positions = nullptr;  // [tokens][chosen]: the row of each choice
};

// out[t] = Σ_j weights[t][j] · rows[positions[t][j]].
struct CombineExperts {
  DType type = DType::kBf16;
  std::int32_t tokens = 1;
  std::int32_t chosen = 1;
  std::int32_t width = 1;
  const float* weights = nullptr;           // [tokens][chosen]
  const std::int32_t* positions = nullptr;  // [tokens][chosen]
  const void* rows = nullptr;               // [tokens · chosen][width]
  void* out = nullptr;                      // [tokens][width]
};

[[nodiscard]] Status validate(const RouteExperts& op);
[[nodiscard]] Status validate(const CombineExperts& op);

[[nodiscard]] Work work(const RouteExperts& op);
[[nodiscard]] Work work(const CombineExperts& op);

template <class Visit>
void for_each_buffer(RouteExperts& op, Visit&& visit) {
  const std::int64_t rows = std::int64_t{1} * op.tokens * op.chosen;
  visit(Buffer{"logits", Role::kInput, DType::kF32, std::int64_t{1} * op.tokens * op.experts}, op.logits);
  visit(Buffer{"weights", Role::kOutput, DType::kF32, rows}, op.weights);
  visit(Buffer{"choices", Role::kOutput, DType::kI32, rows}, op.choices);
  visit(Buffer{"offsets", Role::kOutput, DType::kI32, op.experts + std::int64_t{1}}, op.offsets);
  visit(Buffer{"gather", Role::kOutput, DType::kI32, rows}, op.gather);
  visit(Buffer{"positions", Role::kOutput, DType::kI32, rows}, op.positions);
}

template <class Visit>
void for_each_buffer(CombineExperts& op, Visit&& visit) {
  const std::int64_t rows = std::int64_t{1} * op.tokens * op.chosen;
  visit(Buffer{"weights", Role::kInput, DType::kF32, rows}, op.weights);
  visit(Buffer{"positions", Role::kInput, DType::kI32, rows}, op.positions);
  visit(Buffer{"rows", Role::kInput, op.type, rows * op.width}, op.rows);
  visit(Buffer{"out", Role::kOutput, op.type, std::int64_t{1} * op.tokens * op.width}, op.out);
}

}  // namespace servecast::kernels
