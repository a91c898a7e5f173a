#include "sim/winner_tree.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <vector>

#include "sim/random.hpp"

using namespace servecast;

TEST_CASE("the winner has the least key, of equals the lowest number, after any changes; the runner-up is the next") {
  constexpr int kGreatest = 1000;
  RandomStream random = stream(1, "tree");
  for (const std::uint32_t entries : {1U, 2U, 3U, 8U, 13U}) {
    CAPTURE(entries);
    WinnerTree<int> tree(entries, kGreatest);
    std::vector<int> keys(entries, kGreatest);
    for (int i = 0; i < 2000; ++i) {
      const auto entry = static_cast<std::uint32_t>(below(random, entries));
      keys[entry] = static_cast<int>(below(random, 9));
      tree.set(entry, keys[entry]);
      const auto least = std::min_element(keys.begin(), keys.end());
      REQUIRE(tree.first() == static_cast<std::uint32_t>(least - keys.begin()));
      REQUIRE(tree.least() == *least);
      std::vector<int> others = keys;
      others.erase(others.begin() + (least - keys.begin()));
      const int second = others.empty() ? kGreatest : *std::min_element(others.begin(), others.end());
      REQUIRE(tree.runner_up(kGreatest) == second);
    }
  }
}
