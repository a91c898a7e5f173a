#include "kernels/reference/sampling.hpp"

#include <cmath>

#include "tests/kernels/cpu/backends.hpp"

using namespace servecast::kernels;

TEST_CASE("the threshold found digit by digit keeps what sorting keeps, ties and both zeros among it") {
  constexpr std::int32_t kVocabulary = 97;
  const auto backend = make_cpu_backend();
  auto logits = numbers(kVocabulary, 1);
  for (float& logit : logits) logit = std::round(logit * 8) / 4;  // nine values, each many times, some of them −0
  const auto uniforms = numbers(50, 2);
  std::int32_t compared = 0;
  for (const std::int32_t top_k : {0, 1, 2, 7, 40, kVocabulary}) {
    for (const float top_p : {1.0F, 0.9F, 0.5F, 0.11F, 0.003F}) {
      for (const float shifted : uniforms) {
        const float uniform = shifted + 0.5F;
        std::int32_t token = -1;
        const Sample sample{DType::kF32, 1, kVocabulary, top_k, top_p, 0.7F, logits.data(), &uniform, &token};
        launch(*backend, sample);
        const KeptTokens kept = kept_tokens(sample, 0);
        if (kept.margin < 1e-9) continue;
        ++compared;
        CHECK(token == inverse_sample(kept.probabilities, uniform));
      }
    }
  }
  CHECK(compared > 1000);
}
