// The distributions that sampling draws from: the reference's, and what cases are made with.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/operators/sampling.hpp"

namespace servecast::kernels {

// What is left of a row after temperature, top-k and top-p: renormalised probabilities by index, 0 where cut. Requires
// a temperature above 0.
struct KeptTokens {
  std::vector<double> probabilities;
  double margin = 0;  // how far the running sums stay from top_p: below rounding, kernels may cut elsewhere
};

[[nodiscard]] KeptTokens kept_tokens(const Sample& op, std::int64_t row);

// max(0, target − draft), not normalised. Requires equal sizes.
[[nodiscard]] std::vector<double> residual(const float* target, const float* draft, std::int64_t vocabulary);

// The first index at which the running sum of `weights` exceeds `uniform` times their sum.
[[nodiscard]] std::int32_t inverse_sample(const std::vector<double>& weights, double uniform);

}  // namespace servecast::kernels
