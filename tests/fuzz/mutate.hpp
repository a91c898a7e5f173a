// Inputs made from seed inputs by random edits: bytes, blocks, splices, and the words that readers stumble over.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace servecast::fuzz {

class Mutator {
 public:
  // Requires at least one seed. Equal arguments give equal sequences.
  Mutator(std::vector<std::string> seeds, std::uint64_t seed) : seeds_(std::move(seeds)), random_(seed) {}

  [[nodiscard]] std::string next();

 private:
  void edit(std::string& input);
  [[nodiscard]] std::size_t below(std::size_t bound) { return static_cast<std::size_t>(random_() % bound); }
  [[nodiscard]] const std::string& any_seed() { return seeds_[below(seeds_.size())]; }

  std::vector<std::string> seeds_;
  std::mt19937_64 random_;
};

}  // namespace servecast::fuzz
