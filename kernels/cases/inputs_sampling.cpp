#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/cases/inputs.hpp"
#include "kernels/reference/sampling.hpp"

namespace servecast::kernels {
namespace {

// How far random numbers stay from where the answer changes: single precision rounds sums of thousands of
// probabilities by less.
constexpr double kMargin = 1e-4;

// A random number in the middle of a token's interval, the token drawn by its weight; one in sixteen is the first or
// last token of all, where running sums begin and end.
float clear_uniform(const std::vector<double>& weights, Random& random) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  const double draw = random.below(16) == 0 ? static_cast<double>(random.below(2)) * 0.9999999 : random.uniform();
  auto token = static_cast<std::size_t>(inverse_sample(weights, draw));
  if (weights[token] < 4 * kMargin * sum) {
    token = static_cast<std::size_t>(std::max_element(weights.begin(), weights.end()) - weights.begin());
  }
  const auto end = weights.begin() + static_cast<std::ptrdiff_t>(token);
  return static_cast<float>((std::accumulate(weights.begin(), end, 0.0) + weights[token] / 2) / sum);
}

// Whether rounding may move the cut of top-p over a token that matters: one token of less than the margin shifts all
// sums by no more than clear_uniform leaves.
bool cut_is_near(const KeptTokens& kept) {
  double least = 1;
  for (const double probability : kept.probabilities) {
    if (probability > 0) least = std::min(least, probability);
  }
  return kept.margin < kMargin / 4 && least >= kMargin / 4;
}

void draw_logits(const Sample& op, std::int64_t row, const Inputs& inputs) {
  const std::int64_t row_bytes = bytes_of(op.type, op.vocabulary);
  std::vector<std::byte>& all = inputs.operand("logits").bytes;
  const auto bytes =
      std::span(all).subspan(static_cast<std::size_t>(row * row_bytes), static_cast<std::size_t>(row_bytes));
  fill_random(op.type, bytes, op.vocabulary, 0, 2.5, inputs.random());
  if (op.vocabulary < 4 || row % 3 != 1) return;
  // The largest twice: ties go to the lower index.
  const std::int64_t first = inputs.random().below(op.vocabulary - 1);
  store(op.type, bytes.data(), first, 12);
  store(op.type, bytes.data(), first + 1 + inputs.random().below(op.vocabulary - first - 1), 12);
}

// A distribution in single precision; `peak` makes it sharper.
void draw_distribution(std::span<float> row, double peak, Random& random) {
  double sum = 0;
  for (float& value : row) sum += value = static_cast<float>(std::exp(peak * random.normal()));
  for (float& value : row) value = static_cast<float>(value / sum);
}

// Near the draft's distribution, so that acceptance is neither rare nor certain.
void draw_target(std::span<float> target, std::span<const float> draft, Random& random) {
  double sum = 0;
  for (std::size_t i = 0; i < target.size(); ++i) {
    target[i] = draft[i] * static_cast<float>(std::exp(0.7 * random.normal()));
    sum += target[i];
  }
  for (float& value : target) value = static_cast<float>(value / sum);
}

std::vector<double> doubles(std::span<const float> values) { return {values.begin(), values.end()}; }

struct VerifyOperands {
  std::span<float> target;
  std::span<float> draft;
  std::span<std::int32_t> proposed;
  std::span<float> uniforms;
};

// Draws one sequence; the last uniform must be clear for whichever distribution it is used on.
void draw_sequence(const VerifyDraft& op, std::size_t sequence, const VerifyOperands& to, Random& random) {
  const auto drafted = static_cast<std::size_t>(op.drafted);
  const auto vocabulary = static_cast<std::size_t>(op.vocabulary);
  const auto target_row = [&](std::size_t i) {
    return to.target.subspan((sequence * (drafted + 1) + i) * vocabulary, vocabulary);
  };
  const auto draft_row = [&](std::size_t i) {
    return to.draft.subspan((sequence * drafted + i) * vocabulary, vocabulary);
  };
  const std::span<float> uniforms = to.uniforms.subspan(sequence * (drafted + 1), drafted + 1);
  std::vector<double> last;
  for (std::size_t i = 0; i < drafted; ++i) {
    draw_distribution(draft_row(i), 1.5, random);
    draw_target(target_row(i), draft_row(i), random);
    const std::int32_t token = inverse_sample(doubles(draft_row(i)), random.uniform());
    to.proposed[sequence * drafted + i] = token;
    const auto index = static_cast<std::size_t>(token);
    const double ratio = double{target_row(i)[index]} / double{draft_row(i)[index]};
    do {
      uniforms[i] = static_cast<float>(random.uniform());
    } while (std::abs(double{uniforms[i]} - ratio) < kMargin || uniforms[i] >= 1);
    if (last.empty() && uniforms[i] >= ratio) last = residual(target_row(i).data(), draft_row(i).data(), op.vocabulary);
  }
  draw_distribution(target_row(drafted), 1.5, random);
  uniforms[drafted] = clear_uniform(last.empty() ? doubles(target_row(drafted)) : last, random);
}

}  // namespace

void draw(const Sample& op, const Inputs& inputs) {
  const std::span<float> uniforms = inputs.of<float>("uniforms");
  for (std::int64_t row = 0; row < op.rows; ++row) {
    draw_logits(op, row, inputs);
    if (op.temperature == 0) continue;
    Sample host = op;
    host.logits = inputs.operand("logits").bytes.data();
    KeptTokens kept = kept_tokens(host, row);
    while (cut_is_near(kept)) {
      draw_logits(op, row, inputs);
      kept = kept_tokens(host, row);
    }
    uniforms[static_cast<std::size_t>(row)] = clear_uniform(kept.probabilities, inputs.random());
  }
}

void draw(const VerifyDraft& op, const Inputs& inputs) {
  const VerifyOperands to{inputs.of<float>("target"), inputs.of<float>("draft"), inputs.of<std::int32_t>("proposed"),
                          inputs.of<float>("uniforms")};
  for (std::size_t sequence = 0; sequence < static_cast<std::size_t>(op.sequences); ++sequence) {
    draw_sequence(op, sequence, to, inputs.random());
  }
}

}  // namespace servecast::kernels
