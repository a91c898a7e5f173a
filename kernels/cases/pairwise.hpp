// A small set of combinations in which every pair of levels of every two factors occurs.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace servecast::kernels {

// One level a factor, by index.
using Combination = std::vector<std::int32_t>;

// Greedy: each combination is the best of several random ones by how many new pairs it brings. Combinations that
// `allowed` refuses are not made; pairs that only they have stay open. Equal arguments give equal sets. Requires at
// least two factors, each of one level or more.
[[nodiscard]] std::vector<Combination> pairwise(const std::vector<std::int32_t>& levels,
                                                const std::function<bool(const Combination&)>& allowed,
                                                std::uint64_t seed);

}  // namespace servecast::kernels
