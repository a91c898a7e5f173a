#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/reference/operators.hpp"

namespace servecast::kernels {
namespace {

struct Routing {
  std::vector<double> weights;
  std::vector<double> choices;
};

void route_token(const RouteExperts& op, std::int64_t token, Routing& routing) {
  const float* logits = op.logits + token * op.experts;
  std::vector<std::int32_t> order(static_cast<std::size_t>(op.experts));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) { return logits[a] > logits[b]; });
  const double largest = logits[order.front()];
  double all = 0;
  for (std::int32_t e = 0; e < op.experts; ++e) all += std::exp(logits[e] - largest);
  double chosen = 0;
  for (std::int32_t j = 0; j < op.chosen; ++j) chosen += std::exp(logits[order[static_cast<std::size_t>(j)]] - largest);
  for (std::int32_t j = 0; j < op.chosen; ++j) {
    const std::int32_t expert = order[static_cast<std::size_t>(j)];
    routing.weights.push_back(std::exp(logits[expert] - largest) / (op.renormalise ? chosen : all));
    routing.choices.push_back(expert);
  }
}

}  // namespace

std::vector<Expected> reference_of(const RouteExperts& op, const RowSample&) {
  Routing routing;
  for (std::int64_t token = 0; token < op.tokens; ++token) route_token(op, token, routing);
  std::vector<std::size_t> by_expert(routing.choices.size());
  std::iota(by_expert.begin(), by_expert.end(), std::size_t{0});
  std::stable_sort(by_expert.begin(), by_expert.end(),
                   [&](std::size_t a, std::size_t b) { return routing.choices[a] < routing.choices[b]; });
  std::vector<double> offsets(static_cast<std::size_t>(op.experts) + 1, 0);
  for (const double expert : routing.choices) ++offsets[static_cast<std::size_t>(expert) + 1];
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
  std::vector<double> gather;
  std::vector<double> positions(by_expert.size());
  for (std::size_t row = 0; row < by_expert.size(); ++row) {
    const std::size_t token = by_expert[row] / static_cast<std::size_t>(op.chosen);
    gather.push_back(static_cast<double>(token));
    positions[by_expert[row]] = static_cast<double>(row);
  }
  return {{"weights", op.chosen, {}, routing.weights, false},
          {"choices", op.chosen, {}, routing.choices, true},
          {"offsets", 1, {}, offsets, true},
          {"gather", 1, {}, gather, true},
          {"positions", op.chosen, {}, positions, true}};
}

std::vector<Expected> reference_of(const CombineExperts& op, const RowSample& sample) {
  return {by_rows("out", op.tokens, op.width, sample, [&](std::int64_t token, double* out) {
    for (std::int64_t j = token * op.chosen; j < (token + 1) * op.chosen; ++j) {
      const std::int64_t first = std::int64_t{op.positions[j]} * op.width;
      for (std::int64_t i = 0; i < op.width; ++i) out[i] += double{op.weights[j]} * load(op.type, op.rows, first + i);
    }
  })};
}

}  // namespace servecast::kernels
