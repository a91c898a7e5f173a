#include <algorithm>

#include "kernels/cases/inputs.hpp"

namespace servecast::kernels {
namespace {

// Weights in fp8 spread over the format's normal range, as after scaling.
constexpr double kFp8Deviation = 16;

}  // namespace

void draw(const RmsNorm&, const Inputs& inputs) {
  inputs.normal("x", 0.3, 2);
  inputs.normal("weight", 1, 0.3);
}

void draw(const Activation&, const Inputs& inputs) { inputs.normal("x", 0, 2); }

void draw(const Embedding& op, const Inputs& inputs) {
  const std::span<std::int32_t> ids = inputs.of<std::int32_t>("ids");
  for (std::int32_t& id : ids) id = static_cast<std::int32_t>(inputs.random().below(op.vocabulary));
  ids.front() = op.vocabulary - 1;
  ids.back() = 0;
}

void draw(const Gemm& op, const Inputs& inputs) {
  if (op.type == DType::kFp8) {
    inputs.normal("x", 0, kFp8Deviation);
    inputs.normal("weights", 0, kFp8Deviation);
  }
  const double largest = op.weight_type == DType::kInt8 ? 127 : 7;
  inputs.uniform("scales", 0.5 / largest, 1.5 / largest);
  if (op.layout == WeightLayout::kPanels) {
    const std::span<float> weights = inputs.of<float>("weights");
    for (std::int64_t row = op.n; row < ceil_div(op.n, 32) * 32; ++row) {
      for (std::int64_t i = 0; i < op.k; ++i)
        weights[static_cast<std::size_t>((row / 32 * op.k + i) * 32 + row % 32)] = 0;
    }
  }
}

void draw(const GroupedGemm& op, const Inputs& inputs) {
  // Cuts anywhere: some groups get nothing, some one row, and the first and last group differ.
  const std::span<std::int32_t> offsets = inputs.of<std::int32_t>("offsets");
  for (std::int32_t& offset : offsets)
    offset = static_cast<std::int32_t>(inputs.random().below(op.rows + std::int64_t{1}));
  std::sort(offsets.begin(), offsets.end());
  offsets.front() = 0;
  offsets.back() = op.rows;
  for (std::int32_t& row : inputs.of<std::int32_t>("gather")) {
    row = static_cast<std::int32_t>(inputs.random().below(op.x_rows));
  }
}

void draw(const RouteExperts& op, const Inputs& inputs) {
  // Logits on a grid, shuffled: no two closer than rounding can tell, but for every fourth token, where they come in
  // pairs of exact ties.
  const std::span<float> logits = inputs.of<float>("logits");
  for (std::int64_t token = 0; token < op.tokens; ++token) {
    const auto ranks = inputs.random().permutation(op.experts);
    for (std::size_t e = 0; e < ranks.size(); ++e) {
      const std::int32_t rank = token % 4 == 3 ? ranks[e] / 2 * 2 : ranks[e];
      logits[static_cast<std::size_t>(token * op.experts) + e] =
          static_cast<float>(6.0 * rank / static_cast<double>(op.experts) - 3.0);
    }
  }
}

void draw(const CombineExperts& op, const Inputs& inputs) {
  const auto rows = inputs.random().permutation(std::int64_t{1} * op.tokens * op.chosen);
  std::copy(rows.begin(), rows.end(), inputs.of<std::int32_t>("positions").begin());
  inputs.uniform("weights", 0.05, 1);
}

}  // namespace servecast::kernels
