// Logits that are no numbers: routing stays within its arrays, and says so in the weights.
#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>
#include <limits>
#include <vector>

#include "kernels/emulation/backend.hpp"

using namespace servecast::kernels;

namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Routed {
  std::vector<float> weights;
  std::vector<std::int32_t> choices, offsets, gather, positions;
};

Routed routed(const std::vector<float>& logits, std::int32_t experts, std::int32_t chosen) {
  const auto tokens = static_cast<std::int32_t>(logits.size()) / experts;
  const auto pairs = static_cast<std::size_t>(tokens * chosen);
  const std::vector<std::int32_t> unwritten(pairs, -1);
  Routed out{std::vector<float>(pairs, -1), unwritten, std::vector<std::int32_t>(static_cast<std::size_t>(experts) + 1),
             unwritten, unwritten};
  RouteExperts op;
  op.tokens = tokens;
  op.experts = experts;
  op.chosen = chosen;
  op.logits = logits.data();
  op.weights = out.weights.data();
  op.choices = out.choices.data();
  op.offsets = out.offsets.data();
  op.gather = out.gather.data();
  op.positions = out.positions.data();
  const Status status = make_emulated_backend({})->launch(op, nullptr);
  REQUIRE_MESSAGE(status.ok(), status.message());
  return out;
}

}  // namespace

TEST_CASE("experts whose logits are NaN are chosen last, by rising index, and their token's weights are NaN") {
  std::vector<float> logits(3 * 40, kNan);  // token 0: nothing but NaN
  logits[40 + 35] = 2;                      // token 1: two numbers
  logits[40 + 3] = 1;
  std::fill(logits.begin() + 80, logits.end(), 0.0F);  // token 2: numbers only
  const Routed out = routed(logits, 40, 4);
  CHECK(out.choices == std::vector<std::int32_t>{0, 1, 2, 3, 35, 3, 0, 1, 0, 1, 2, 3});
  for (std::size_t i = 0; i < 8; ++i) CHECK(std::isnan(out.weights[i]));
  for (std::size_t i = 8; i < 12; ++i) CHECK(out.weights[i] == 0.25F);
}

TEST_CASE("every row of the experts has its token although logits are NaN") {
  const Routed out = routed(std::vector<float>(5 * 33, kNan), 33, 2);
  CHECK(out.offsets.back() == 10);
  CHECK(out.gather == std::vector<std::int32_t>{0, 1, 2, 3, 4, 0, 1, 2, 3, 4});
  CHECK(out.positions == std::vector<std::int32_t>{0, 5, 1, 6, 2, 7, 3, 8, 4, 9});
}
