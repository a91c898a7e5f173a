#include "kernels/cases/lists.hpp"

#include <doctest/doctest.h>
#include <map>
#include <set>

#include "kernels/cases/pairwise.hpp"

using namespace servecast::kernels;

TEST_CASE("pairwise combinations hold every pair that is allowed, in few rows") {
  const std::vector<std::int32_t> levels = {2, 3, 3, 5, 3, 6};
  const auto allowed = [](const Combination& c) { return !(c[0] == 1 && c[5] == 2); };
  const auto rows = pairwise(levels, allowed, 1);
  std::set<std::array<std::int32_t, 4>> met;
  for (const Combination& row : rows) {
    CHECK(allowed(row));
    for (std::int32_t a = 0; a < 6; ++a) {
      for (std::int32_t b = a + 1; b < 6; ++b) {
        met.insert({a, row[static_cast<std::size_t>(a)], b, row[static_cast<std::size_t>(b)]});
      }
    }
  }
  std::size_t pairs = 0;
  for (std::size_t a = 0; a < 6; ++a) {
    for (std::size_t b = a + 1; b < 6; ++b) pairs += static_cast<std::size_t>(levels[a] * levels[b]);
  }
  CHECK(met.size() == pairs - 1);
  CHECK(rows.size() <= 36);  // at least 30 = 5 · 6
  CHECK(rows == pairwise(levels, allowed, 1));
}

TEST_CASE("the lists are about three hundred cases with names of their own, and have every operation") {
  for (const auto& [set, operations] :
       std::map<CaseSet, std::size_t>{{CaseSet::kCuda, 16}, {CaseSet::kCuda75, 15}, {CaseSet::kCpu, 16}}) {
    const auto shapes = case_shapes(set);
    std::set<std::string> names;
    std::set<std::string_view> found;
    for (const CaseShape& shape : shapes) {
      CHECK_MESSAGE(names.insert(shape.name).second, shape.name);
      found.insert(name_of(shape.operation));
    }
    CHECK(shapes.size() <= 330);
    CHECK(found.size() == operations);
  }
}
