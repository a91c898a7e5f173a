// Byte-pair merging over bytes: a word starts as its bytes, and the pair that was learnt first merges first.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace servecast {

class BytePairs {
 public:
  // With `whole_words`, a word that is itself in the vocabulary is one token whatever the merges say.
  explicit BytePairs(bool whole_words) : whole_words_(whole_words) {}

  void add_token(std::string bytes, std::uint32_t id);
  // Merges rank in the order in which they are added. False where a part or the whole is no token.
  bool add_merge(std::string_view left, std::string_view right);
  // How many of the 256 bytes are no token; encoding requires none.
  [[nodiscard]] int missing_bytes() const;

  // Appends the word's tokens.
  void encode(std::string_view word, std::vector<std::uint32_t>& ids) const;

 private:
  struct Merge {
    std::uint32_t rank;
    std::uint32_t id;
  };
  struct Symbol {
    std::uint32_t id;
    std::size_t previous;
    std::size_t next;
  };
  struct Candidate {
    std::uint32_t rank;
    std::size_t left;
    std::uint64_t pair;  // as it was when the candidate was found; a later merge may have changed it
    bool operator>(const Candidate& other) const { return std::pair(rank, left) > std::pair(other.rank, other.left); }
  };

  [[nodiscard]] static std::uint64_t pair_of(std::uint32_t left, std::uint32_t right) {
    return std::uint64_t{left} << 32 | right;
  }
  void consider(const std::vector<Symbol>& symbols, std::size_t left, std::vector<Candidate>& heap) const;

  bool whole_words_;
  std::unordered_map<std::string, std::uint32_t> tokens_;
  std::array<std::int64_t, 256> byte_ids_ = [] {
    std::array<std::int64_t, 256> none{};
    none.fill(-1);
    return none;
  }();
  std::unordered_map<std::uint64_t, Merge> merges_;
};

}  // namespace servecast
