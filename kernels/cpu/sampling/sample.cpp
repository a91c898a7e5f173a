#include <algorithm>

#include "kernels/cpu/operators.hpp"
#include "kernels/cpu/sampling/threshold.hpp"

namespace servecast::kernels::cpu {
namespace {

std::int32_t sample_row(const Sample& op, const float* logits, double uniform) {
  const float* largest = std::max_element(logits, logits + op.vocabulary);
  if (op.temperature == 0) return static_cast<std::int32_t>(largest - logits);
  const Weighing weight{*largest, op.temperature};
  const Threshold kept = kept_of(op, logits, weight);
  double sum = 0;
  for_each_kept(logits, op.vocabulary, kept, [&](std::int64_t, float logit) {
    sum += weight(logit);
    return true;
  });
  const double goal = uniform * sum;
  double running = 0;
  std::int64_t token = 0;
  for_each_kept(logits, op.vocabulary, kept, [&](std::int64_t i, float logit) {
    const double share = weight(logit);
    running += share;
    if (share > 0) token = i;
    return running <= goal;
  });
  return static_cast<std::int32_t>(token);
}

// The first index at which the running sum of weight(i) exceeds `uniform` of the whole; the last of some weight, where
// rounding leaves none.
template <class Weight>
std::int32_t draw(std::int64_t count, double uniform, Weight&& weight) {
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += weight(i);
  const double goal = uniform * sum;
  double running = 0;
  std::int64_t last = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const double share = weight(i);
    running += share;
    if (share > 0) last = i;
    if (running > goal) break;
  }
  return static_cast<std::int32_t>(last);
}

void verify_sequence(const VerifyDraft& op, std::int64_t sequence) {
  const float* uniforms = op.uniforms + sequence * (op.drafted + 1);
  const float* target = op.target + sequence * (op.drafted + 1) * op.vocabulary;
  const float* draft = op.draft + sequence * op.drafted * op.vocabulary;
  const std::int32_t* proposed = op.proposed + sequence * op.drafted;
  std::int32_t* tokens = op.tokens + sequence * (op.drafted + 1);
  std::int32_t kept = 0;
  for (; kept < op.drafted; ++kept, target += op.vocabulary, draft += op.vocabulary) {
    const std::int32_t token = proposed[kept];
    if (!(uniforms[kept] < std::min(1.0, double{target[token]} / double{draft[token]}))) break;
    tokens[kept] = token;
  }
  op.accepted[sequence] = kept;
  const double uniform = uniforms[op.drafted];
  if (kept == op.drafted) {
    tokens[kept] = draw(op.vocabulary, uniform, [&](std::int64_t i) { return double{target[i]}; });
  } else {
    tokens[kept] = draw(op.vocabulary, uniform,
                        [&](std::int64_t i) { return std::max(0.0, double{target[i]} - double{draft[i]}); });
  }
  std::fill(tokens + kept + 1, tokens + op.drafted + 1, -1);
}

}  // namespace

void run(const Sample& op, Runtime& runtime) {
  runtime.pool().for_each(op.rows, [&](std::int64_t row, std::int32_t) {
    const double uniform = op.temperature == 0 ? 0.0 : double{op.uniforms[row]};
    op.tokens[row] = sample_row(op, static_cast<const float*>(op.logits) + row * op.vocabulary, uniform);
  });
}

void run(const VerifyDraft& op, Runtime& runtime) {
  runtime.pool().for_each(op.sequences, [&](std::int64_t sequence, std::int32_t) { verify_sequence(op, sequence); });
}

}  // namespace servecast::kernels::cpu
