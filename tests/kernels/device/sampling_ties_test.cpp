// Which of equal logits are kept, on the CUDA kernels: exact, because every sum there is.
#include <cmath>
#include <doctest/doctest.h>
#include <limits>
#include <vector>

#include "kernels/emulation/backend.hpp"

using namespace servecast::kernels;

namespace {

struct Cut {
  std::int32_t top_k = 0;
  float top_p = 1;
};

// The token of one row at temperature 1.
std::int32_t sampled(const std::vector<float>& logits, Cut cut, float uniform) {
  std::int32_t token = -1;
  Sample op;
  op.vocabulary = static_cast<std::int32_t>(logits.size());
  op.top_k = cut.top_k;
  op.top_p = cut.top_p;
  op.temperature = 1;
  op.logits = logits.data();
  op.uniforms = &uniform;
  op.tokens = &token;
  const Status status = make_emulated_backend({})->launch(op, nullptr);
  REQUIRE_MESSAGE(status.ok(), status.message());
  return token;
}

constexpr float kAlmostOne = 0x1.fffffep-1F;

}  // namespace

TEST_CASE("of equal logits top-k keeps the lower indices") {
  const std::vector<float> equal(3000, -2.5F);
  CHECK(sampled(equal, {40, 1}, 0) == 0);
  CHECK(sampled(equal, {40, 1}, kAlmostOne) == 39);
  CHECK(sampled(equal, {40, 1}, 0.5F) == 20);  // the running sum reaches a half at 19, and exceeds it at 20
}

TEST_CASE("of equal probabilities top-p keeps as many as reach it, by rising index") {
  const std::vector<float> equal(10, 1.0F);
  CHECK(sampled(equal, {0, 0.35F}, kAlmostOne) == 3);
  CHECK(sampled(equal, {0, 0.5F}, kAlmostOne) == 4);  // half of ten reach a half exactly
  CHECK(sampled(equal, {0, 1e-6F}, kAlmostOne) == 0);
}

TEST_CASE("top-p counts within what top-k has left") {
  const std::vector<float> equal(1000, 0.0F);
  CHECK(sampled(equal, {8, 0.5F}, kAlmostOne) == 3);
}

TEST_CASE("both zeros are one logit, and masked tokens are never drawn") {
  CHECK(sampled({-1, -0.0F, 0.0F, -1}, {1, 1}, kAlmostOne) == 1);
  std::vector<float> masked(100, -std::numeric_limits<float>::infinity());
  masked[17] = -3;
  masked[80] = -3;
  CHECK(sampled(masked, {}, 0) == 17);
  CHECK(sampled(masked, {}, kAlmostOne) == 80);
  CHECK(sampled(masked, {50, 0.99F}, kAlmostOne) == 80);
  masked[80] = std::numeric_limits<float>::infinity();
  CHECK(sampled(masked, {}, 0) == 80);
}
