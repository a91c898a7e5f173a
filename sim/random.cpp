#include "sim/random.hpp"

namespace servecast {
namespace {

// FNV-1a, 64 bit: http://www.isthe.com/chongo/tech/comp/fnv (public domain constants).
std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return hash;
}

}  // namespace

// The finaliser of SplitMix64: spreads neighbouring values over the whole range.
std::uint64_t scrambled(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

RandomStream stream(std::uint64_t seed, std::string_view purpose) {
  return RandomStream{scrambled(scrambled(seed) ^ fnv1a(purpose))};
}

std::uint64_t below(RandomStream& random, std::uint64_t bound) {
  const std::uint64_t uneven = -bound % bound;  // 2^64 modulo bound: so many values would come once too often
  for (;;) {
    const std::uint64_t value = random();
    if (value >= uneven) return value % bound;
  }
}

}  // namespace servecast
