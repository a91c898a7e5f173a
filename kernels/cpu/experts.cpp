#include <algorithm>
#include <cmath>

#include "kernels/cpu/operators.hpp"

namespace servecast::kernels::cpu {
namespace {

constexpr std::int64_t kMaxExperts = 512;  // of RouteExperts

// The `chosen` largest by insertion, ties to the lower index: a later equal one does not move ahead.
void choose(const RouteExperts& op, const float* logits, std::int32_t* choices) {
  std::int64_t kept = 0;
  for (std::int32_t expert = 0; expert < op.experts; ++expert) {
    if (kept == op.chosen && !(logits[expert] > logits[choices[kept - 1]])) continue;
    std::int64_t place = kept < op.chosen ? kept++ : kept - 1;
    for (; place > 0 && logits[expert] > logits[choices[place - 1]]; --place) choices[place] = choices[place - 1];
    choices[place] = expert;
  }
}

void weigh(const RouteExperts& op, const float* logits, const std::int32_t* choices, float* weights) {
  const double largest = logits[choices[0]];
  const auto share = [&](std::int32_t expert) { return std::exp(logits[expert] - largest); };
  double sum = 0;
  if (op.renormalise) {
    for (std::int64_t j = 0; j < op.chosen; ++j) sum += share(choices[j]);
  } else {
    for (std::int32_t expert = 0; expert < op.experts; ++expert) sum += share(expert);
  }
  for (std::int64_t j = 0; j < op.chosen; ++j) weights[j] = static_cast<float>(share(choices[j]) / sum);
}

// Counts, then places: stable by token.
void sort_by_expert(const RouteExperts& op) {
  const std::int64_t rows = std::int64_t{op.tokens} * op.chosen;
  std::fill(op.offsets, op.offsets + op.experts + 1, 0);
  for (std::int64_t row = 0; row < rows; ++row) ++op.offsets[op.choices[row] + 1];
  std::int32_t next[kMaxExperts];
  for (std::int64_t expert = 0; expert < op.experts; ++expert) {
    next[expert] = op.offsets[expert];
    op.offsets[expert + 1] += op.offsets[expert];
  }
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int32_t place = next[op.choices[row]]++;
    op.positions[row] = place;
    op.gather[place] = static_cast<std::int32_t>(row / op.chosen);
  }
}

}  // namespace

void run(const RouteExperts& op, Runtime& runtime) {
  runtime.pool().for_each(op.tokens, [&](std::int64_t token, std::int32_t) {
    const float* logits = op.logits + token * op.experts;
    std::int32_t* choices = op.choices + token * op.chosen;
    choose(op, logits, choices);
    weigh(op, logits, choices, op.weights + token * op.chosen);
  });
  sort_by_expert(op);
}

void run(const CombineExperts& op, Runtime& runtime) {
  runtime.pool().for_each(op.tokens, [&](std::int64_t token, std::int32_t) {
    float* out = static_cast<float*>(op.out) + token * op.width;
    std::fill(out, out + op.width, 0.0F);
    for (std::int64_t j = token * op.chosen; j < (token + 1) * op.chosen; ++j) {
      const float* row = static_cast<const float*>(op.rows) + std::int64_t{op.positions[j]} * op.width;
      const float weight = op.weights[j];
      for (std::int64_t i = 0; i < op.width; ++i) out[i] += weight * row[i];
    }
  });
}

}  // namespace servecast::kernels::cpu
