#include "kernels/reference/sampling.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/reference/operators.hpp"

namespace servecast::kernels {
namespace {

std::int32_t sample_row(const Sample& op, std::int64_t row) {
  if (op.temperature > 0) return inverse_sample(kept_tokens(op, row).probabilities, op.uniforms[row]);
  std::int32_t best = 0;
  for (std::int32_t i = 1; i < op.vocabulary; ++i) {
    const std::int64_t first = row * op.vocabulary;
    if (load(op.type, op.logits, first + i) > load(op.type, op.logits, first + best)) best = i;
  }
  return best;
}

struct Verified {
  std::int32_t accepted = 0;
  std::int32_t last = 0;
};

Verified verify(const VerifyDraft& op, std::int64_t sequence) {
  const float* uniforms = op.uniforms + sequence * (op.drafted + 1);
  for (std::int32_t i = 0; i < op.drafted; ++i) {
    const std::int64_t draft_row = sequence * op.drafted + i;
    const float* target = op.target + (sequence * (op.drafted + 1) + i) * op.vocabulary;
    const float* draft = op.draft + draft_row * op.vocabulary;
    const std::int32_t token = op.proposed[draft_row];
    const double ratio = double{target[token]} / double{draft[token]};
    if (uniforms[i] < std::min(1.0, ratio)) continue;
    return {i, inverse_sample(residual(target, draft, op.vocabulary), uniforms[op.drafted])};
  }
  const float* bonus = op.target + (sequence * (op.drafted + 1) + op.drafted) * op.vocabulary;
  return {op.drafted, inverse_sample(std::vector<double>(bonus, bonus + op.vocabulary), uniforms[op.drafted])};
}

}  // namespace

KeptTokens kept_tokens(const Sample& op, std::int64_t row) {
  std::vector<double> weights;
  for (std::int64_t i = 0; i < op.vocabulary; ++i) {
    weights.push_back(load(op.type, op.logits, row * op.vocabulary + i) / op.temperature);
  }
  std::vector<std::int32_t> order(weights.size());
  std::iota(order.begin(), order.end(), 0);
  const auto weight = [&](std::int32_t i) { return weights[static_cast<std::size_t>(i)]; };
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return weight(a) > weight(b); });
  if (op.top_k > 0) order.resize(static_cast<std::size_t>(op.top_k));
  double sum = 0;
  const double largest = weight(order.front());
  for (const std::int32_t i : order) sum += std::exp(weight(i) - largest);

  KeptTokens kept{std::vector<double>(weights.size(), 0.0), 1};
  double running = 0;
  for (const std::int32_t i : order) {
    if (op.top_p < 1 && running >= op.top_p) break;
    const double probability = std::exp(weight(i) - largest) / sum;
    running += probability;
    kept.probabilities[static_cast<std::size_t>(i)] = probability;
    if (op.top_p < 1) kept.margin = std::min(kept.margin, std::abs(running - double{op.top_p}));
  }
  for (double& probability : kept.probabilities) probability /= running;
  return kept;
}

std::vector<double> residual(const float* target, const float* draft, std::int64_t vocabulary) {
  std::vector<double> left;
  for (std::int64_t i = 0; i < vocabulary; ++i) left.push_back(std::max(0.0, double{target[i]} - double{draft[i]}));
  return left;
}

std::int32_t inverse_sample(const std::vector<double>& weights, double uniform) {
  const double goal = uniform * std::accumulate(weights.begin(), weights.end(), 0.0);
  double running = 0;
  std::size_t last = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    running += weights[i];
    if (weights[i] > 0) last = i;
    if (running > goal) return static_cast<std::int32_t>(i);
  }
  return static_cast<std::int32_t>(last);
}

std::vector<Expected> reference_of(const Sample& op, const RowSample& sample) {
  Expected tokens =
      by_rows("tokens", op.rows, 1, sample, [&](std::int64_t row, double* out) { *out = sample_row(op, row); });
  tokens.exact = true;
  return {tokens};
}

std::vector<Expected> reference_of(const VerifyDraft& op, const RowSample&) {
  Expected accepted{"accepted", 1, {}, {}, true};
  Expected tokens{"tokens", op.drafted + std::int64_t{1}, {}, {}, true};
  for (std::int64_t sequence = 0; sequence < op.sequences; ++sequence) {
    const Verified verified = verify(op, sequence);
    accepted.values.push_back(verified.accepted);
    for (std::int32_t i = 0; i <= op.drafted; ++i) {
      if (i < verified.accepted) {
        tokens.values.push_back(op.proposed[sequence * op.drafted + i]);
      } else {
        tokens.values.push_back(i == verified.accepted ? verified.last : -1);
      }
    }
  }
  return {accepted, tokens};
}

}  // namespace servecast::kernels
