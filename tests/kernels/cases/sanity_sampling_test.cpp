// Speculative verification keeps the target's distribution, and accepts as often as the two distributions overlap.
#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>
#include <numeric>
#include <random>
#include <vector>

#include "kernels/cpu/backend.hpp"
#include "kernels/emulation/backend.hpp"
#include "kernels/reference/sampling.hpp"

using namespace servecast::kernels;

namespace {

constexpr std::size_t kVocabulary = 16;
// The χ² distribution with 15 degrees of freedom exceeds this with a probability of 1e-4.
constexpr double kCritical = 44.263;

std::vector<float> distribution(double slope) {
  std::vector<float> weights;
  for (std::size_t i = 0; i < kVocabulary; ++i) {
    weights.push_back(static_cast<float>(std::exp(-slope * static_cast<double>(i * 7 % kVocabulary) / 8)));
  }
  const float sum = std::accumulate(weights.begin(), weights.end(), 0.0F);
  for (float& weight : weights) weight /= sum;
  return weights;
}

float uniform(std::mt19937_64& random) { return static_cast<float>(random() >> 40) * 0x1p-24F; }

struct Drawn {
  std::int64_t sequences = 0;
  std::int64_t accepted = 0;
  std::vector<double> first_tokens = std::vector<double>(kVocabulary, 0.0);  // how often each was the first emitted
};

// `sequences` verifications of one draft token each, drawn from `draft`.
void verify(Backend& backend, const std::vector<float>& target, const std::vector<float>& draft, std::int32_t sequences,
            std::mt19937_64& random, Drawn& drawn) {
  std::vector<float> targets;
  std::vector<float> drafts;
  std::vector<float> uniforms;
  std::vector<std::int32_t> proposed;
  const std::vector<double> draft_weights(draft.begin(), draft.end());
  for (std::int32_t s = 0; s < sequences; ++s) {
    for (int row = 0; row < 2; ++row) targets.insert(targets.end(), target.begin(), target.end());
    drafts.insert(drafts.end(), draft.begin(), draft.end());
    proposed.push_back(inverse_sample(draft_weights, uniform(random)));
    for (int i = 0; i < 2; ++i) uniforms.push_back(uniform(random));
  }
  std::vector<std::int32_t> accepted(static_cast<std::size_t>(sequences));
  std::vector<std::int32_t> tokens(2 * static_cast<std::size_t>(sequences));
  VerifyDraft op;
  op.sequences = sequences;
  op.vocabulary = static_cast<std::int32_t>(kVocabulary);
  op.target = targets.data();
  op.draft = drafts.data();
  op.proposed = proposed.data();
  op.uniforms = uniforms.data();
  op.accepted = accepted.data();
  op.tokens = tokens.data();
  const Status status = backend.launch(op, nullptr);
  REQUIRE_MESSAGE(status.ok(), status.message());
  drawn.sequences += sequences;
  drawn.accepted += std::accumulate(accepted.begin(), accepted.end(), std::int64_t{0});
  for (std::size_t s = 0; s < accepted.size(); ++s) ++drawn.first_tokens[static_cast<std::size_t>(tokens[2 * s])];
}

double chi_square(const std::vector<double>& counts, const std::vector<float>& expected, double total) {
  double sum = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double mean = total * double{expected[i]};
    sum += (counts[i] - mean) * (counts[i] - mean) / mean;
  }
  return sum;
}

double overlap(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::min(double{a[i]}, double{b[i]});
  return sum;
}

}  // namespace

TEST_CASE("100,000 verifications accept as often as the distributions overlap and emit the target's") {
  const auto backend = make_cpu_backend();
  for (const double slope : {0.5, 2.0}) {
    const auto target = distribution(1);
    const auto draft = distribution(slope);
    std::mt19937_64 random(41);
    Drawn drawn;
    for (int batch = 0; batch < 20; ++batch) verify(*backend, target, draft, 5000, random, drawn);
    const auto total = static_cast<double>(drawn.sequences);
    CHECK(drawn.sequences == 100'000);
    CHECK(std::abs(static_cast<double>(drawn.accepted) / total - overlap(target, draft)) < 0.01);
    CHECK(chi_square(drawn.first_tokens, target, total) < kCritical);
    CHECK(chi_square(drawn.first_tokens, draft, total) > 10 * kCritical);  // the test can tell them apart
    double variation = 0;
    for (std::size_t i = 0; i < kVocabulary; ++i) {
      variation += std::abs(drawn.first_tokens[i] / total - double{target[i]}) / 2;
    }
    CHECK(variation < 0.01);  // a perfect sampler's is .005 on average
  }
}

TEST_CASE("CUDA kernels verify with the same distribution") {
  const auto backend = make_emulated_backend({});
  const auto target = distribution(1);
  const auto draft = distribution(0.5);
  std::mt19937_64 random(42);
  Drawn drawn;
  verify(*backend, target, draft, 3000, random, drawn);
  // Six standard errors of a share.
  const double alpha = overlap(target, draft);
  CHECK(std::abs(static_cast<double>(drawn.accepted) / 3000 - alpha) < 6 * std::sqrt(alpha * (1 - alpha) / 3000));
  CHECK(chi_square(drawn.first_tokens, target, 3000) < kCritical);
}

TEST_CASE("sampled tokens follow the softmax at their temperature") {
  const auto backend = make_cpu_backend();
  constexpr std::int32_t kRows = 20'000;
  std::vector<float> logits;
  std::vector<float> uniforms;
  std::mt19937_64 random(43);
  const auto expected = distribution(1);
  for (std::int32_t row = 0; row < kRows; ++row) {
    for (const float probability : expected) logits.push_back(2 * std::log(probability));
    uniforms.push_back(uniform(random));
  }
  std::vector<std::int32_t> tokens(kRows);
  Sample op;
  op.rows = kRows;
  op.vocabulary = static_cast<std::int32_t>(kVocabulary);
  op.temperature = 2;
  op.logits = logits.data();
  op.uniforms = uniforms.data();
  op.tokens = tokens.data();
  REQUIRE(backend->launch(op, nullptr).ok());
  std::vector<double> counts(kVocabulary, 0.0);
  for (const std::int32_t token : tokens) ++counts[static_cast<std::size_t>(token)];
  CHECK(chi_square(counts, expected, kRows) < kCritical);
}
