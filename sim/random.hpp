// Random numbers that do not depend on the standard library, the host, or on each other: one stream per
// named purpose, derived from one seed, so that a new draw in one part leaves the others alone.
#pragma once

#include <boost/random/mersenne_twister.hpp>
#include <cstdint>
#include <string_view>

namespace servecast {

using RandomStream = boost::random::mt19937_64;

// The stream of `purpose` under `seed`. Equal arguments give equal streams on every machine.
[[nodiscard]] RandomStream stream(std::uint64_t seed, std::string_view purpose);

// Uniform over 0 … bound − 1, without bias. Requires bound > 0.
[[nodiscard]] std::uint64_t below(RandomStream& random, std::uint64_t bound);

// A hash of `x`: neighbouring values become unrelated ones.
[[nodiscard]] std::uint64_t scrambled(std::uint64_t x);

}  // namespace servecast
