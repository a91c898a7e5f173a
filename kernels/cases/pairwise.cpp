#include "kernels/cases/pairwise.hpp"

#include <set>
#include <tuple>
#include <utility>

#include "kernels/cases/random.hpp"

namespace servecast::kernels {
namespace {

using Pair = std::tuple<std::size_t, std::int32_t, std::size_t, std::int32_t>;

constexpr int kCandidates = 40;
// Draws of a combination around one open pair before it is held to be refused everywhere.
constexpr int kDraws = 400;

std::vector<Pair> pairs_of(const Combination& combination) {
  std::vector<Pair> pairs;
  for (std::size_t a = 0; a < combination.size(); ++a) {
    for (std::size_t b = a + 1; b < combination.size(); ++b) pairs.emplace_back(a, combination[a], b, combination[b]);
  }
  return pairs;
}

std::set<Pair> all_pairs(const std::vector<std::int32_t>& levels) {
  std::set<Pair> pairs;
  for (std::size_t a = 0; a < levels.size(); ++a) {
    for (std::size_t b = a + 1; b < levels.size(); ++b) {
      for (std::int32_t i = 0; i < levels[a]; ++i) {
        for (std::int32_t j = 0; j < levels[b]; ++j) pairs.emplace(a, i, b, j);
      }
    }
  }
  return pairs;
}

Combination around(const Pair& pair, const std::vector<std::int32_t>& levels, Random& random) {
  Combination combination;
  for (const std::int32_t count : levels) combination.push_back(static_cast<std::int32_t>(random.below(count)));
  combination[std::get<0>(pair)] = std::get<1>(pair);
  combination[std::get<2>(pair)] = std::get<3>(pair);
  return combination;
}

std::size_t open_pairs(const Combination& combination, const std::set<Pair>& open) {
  std::size_t count = 0;
  for (const Pair& pair : pairs_of(combination)) count += open.count(pair);
  return count;
}

}  // namespace

std::vector<Combination> pairwise(const std::vector<std::int32_t>& levels,
                                  const std::function<bool(const Combination&)>& allowed, std::uint64_t seed) {
  Random random(seed);
  std::set<Pair> open = all_pairs(levels);
  std::vector<Combination> chosen;
  while (!open.empty()) {
    const Pair goal = *open.begin();
    Combination best;
    std::size_t most = 0;
    for (int draw = 0, candidates = 0; draw < kDraws && candidates < kCandidates; ++draw) {
      const Combination combination = around(goal, levels, random);
      if (!allowed(combination)) continue;
      ++candidates;
      const std::size_t brings = open_pairs(combination, open);
      if (brings > most) std::tie(most, best) = std::pair(brings, combination);
    }
    open.erase(goal);
    if (best.empty()) continue;
    for (const Pair& pair : pairs_of(best)) open.erase(pair);
    chosen.push_back(best);
  }
  return chosen;
}

}  // namespace servecast::kernels
