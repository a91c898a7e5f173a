// Random step shapes for property tests: from one token to thousands, prefills with and without context.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "costmodel/model.hpp"
#include "sim/step.hpp"

struct OwnedShape {
  std::vector<servecast::PrefillChunk> prefills;
  servecast::StepShape shape;
};

// The shape points into the returned object: keep it in place.
inline void fill_random(std::mt19937_64& random, const servecast::ModelShape& model, OwnedShape& owned) {
  using servecast::Tokens;
  const auto upto = [&](std::int64_t most) {
    return static_cast<std::int64_t>(random() % (static_cast<std::uint64_t>(most) + 1));
  };
  owned.prefills.clear();
  for (std::int64_t i = upto(3); i > 0; --i) owned.prefills.push_back({Tokens{1 + upto(2000)}, Tokens{upto(9000)}});
  const std::int64_t window = model.window().value_or(Tokens{1'000'000'000}).count();
  std::int64_t context = 0;
  std::int64_t cut = 0;
  const std::int64_t sequences = upto(1) * upto(200);
  for (std::int64_t i = 0; i < sequences; ++i) {
    const std::int64_t own = 1 + upto(8000);
    context += own;
    cut += std::min(own, window);
  }
  owned.shape = {owned.prefills, sequences, Tokens{context}, Tokens{cut},
                 sequences + upto(static_cast<std::int64_t>(owned.prefills.size()))};
}
