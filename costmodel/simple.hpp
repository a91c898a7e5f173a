// Cost models with two lines of arithmetic, for tests, for queueing theory and for experiments that want to see
// scheduling alone.
#pragma once

#include <algorithm>

#include "costmodel/work.hpp"
#include "sim/step.hpp"

namespace servecast {

// Every step lasts the same, also an empty one.
class ConstantStepModel final : public StepCostModel {
 public:
  // Requires step of at least 1 ns.
  explicit ConstantStepModel(Duration step, Duration host = Duration{0}) : cost_{step, host} {}
  StepCost cost(const StepShape&) override { return cost_; }

 private:
  StepCost cost_;
};

// t = per_step + per_token · tokens + per_sequence · (prefills + decodes) + per_key · keys attended, where a prefill
// attends its causal pairs. The form in which published engines are often fitted.
struct LinearCoefficients {
  double per_step_s = 0;
  double per_token_s = 0;
  double per_sequence_s = 0;
  double per_key_s = 0;
};

class LinearStepModel final : public StepCostModel {
 public:
  explicit LinearStepModel(LinearCoefficients coefficients) : per_(coefficients) {}

  StepCost cost(const StepShape& shape) override {
    double keys = static_cast<double>(shape.decode_context.count());
    for (const PrefillChunk& chunk : shape.prefills) keys += causal_pairs(chunk, std::nullopt);
    const double sequences = static_cast<double>(shape.decode_sequences) + static_cast<double>(shape.prefills.size());
    const double time = per_.per_step_s + per_.per_token_s * static_cast<double>(tokens_of(shape)) +
                        per_.per_sequence_s * sequences + per_.per_key_s * keys;
    return {std::max(Duration{1}, from_seconds(time)), Duration{0}};
  }

 private:
  LinearCoefficients per_;
};

}  // namespace servecast
