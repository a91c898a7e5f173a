#include "sim/random.hpp"

namespace servecast {
namespace {

// FNV-1a, 64 bit: http://www.isthe.com/chongo/tech/comp/fnv (public domain constants).
std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return hash;
}

// The finaliser of SplitMix64: spreads neighbouring seeds over the whole range.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

}  // namespace

RandomStream stream(std::uint64_t seed, std::string_view purpose) {
  return RandomStream{mix(mix(seed) ^ fnv1a(purpose))};
}

}  // namespace servecast
