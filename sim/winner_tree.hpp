// Which of n entries has the least key, kept up to date as keys change: O(log n) a change, O(1) to ask. Ties go to the
// entry with the lowest number, so that the answer does not depend on the order of changes.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace servecast {

template <class Key>
class WinnerTree {
 public:
  // `greatest`: a key that no other follows; every entry holds it at first.
  WinnerTree(std::size_t entries, const Key& greatest)
      : leaves_(std::bit_ceil(std::max<std::size_t>(entries, 1))), keys_(leaves_, greatest), winners_(leaves_) {
    for (std::size_t node = leaves_ - 1; node > 0; --node) winners_[node] = winner_of(2 * node);
  }

  [[nodiscard]] const Key& operator[](std::uint32_t entry) const { return keys_[entry]; }

  void set(std::uint32_t entry, const Key& key) {
    keys_[entry] = key;
    for (std::size_t node = (entry + leaves_) / 2; node > 0; node /= 2) {
      const std::uint32_t before = winners_[node];
      winners_[node] = better(winner_of(2 * node), winner_of(2 * node + 1));
      if (winners_[node] == before && before != entry) break;  // nothing above has changed
    }
  }

  [[nodiscard]] std::uint32_t first() const { return leaves_ == 1 ? 0 : winners_[1]; }
  [[nodiscard]] const Key& least() const { return keys_[first()]; }
  // The least key of all entries but first(); `alone` where there is no other.
  [[nodiscard]] Key runner_up(const Key& alone) const {
    Key least = alone;
    for (std::size_t node = first() + leaves_; node > 1; node /= 2) {
      least = std::min(least, keys_[winner_of(node ^ 1U)]);
    }
    return least;
  }

 private:
  [[nodiscard]] std::uint32_t winner_of(std::size_t node) const {
    return node >= leaves_ ? static_cast<std::uint32_t>(node - leaves_) : winners_[node];
  }
  // `left` has the lower number.
  [[nodiscard]] std::uint32_t better(std::uint32_t left, std::uint32_t right) const {
    return keys_[right] < keys_[left] ? right : left;
  }

  std::size_t leaves_;
  std::vector<Key> keys_;
  std::vector<std::uint32_t> winners_;  // of the subtree under each inner node; the root is 1
};

}  // namespace servecast
