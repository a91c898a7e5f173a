// What operators should answer: each one written once more in double precision, as a textbook has it, over operands
// in host memory and in their stored formats (a quantised value is read with its scale).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "kernels/operation.hpp"

namespace servecast::kernels {

// What one output should hold. `values` are those of `rows` (all rows, in order, where that is empty). NaN stands for
// an element that the operation must leave as it was.
struct Expected {
  std::string_view buffer;  // its name in for_each_buffer
  std::int64_t width = 1;   // elements of a row
  std::vector<std::int64_t> rows;
  std::vector<double> values;
  bool exact = false;  // integers, and what is only moved: any difference is an error
};

// Which rows of a large output to compute: all (0), or at most so many, first and last among them, spread by the seed.
// Operators that have no independent rows compute all of them.
struct RowSample {
  std::int64_t at_most = 0;
  std::uint64_t seed = 0;
};

// Requires a valid operation whose pointers are host memory. Does not write to it.
[[nodiscard]] std::vector<Expected> reference(const Operation& operation, const RowSample& sample = {});

// One output as real numbers: elements times their scales. `buffer` is a name that reference() gives.
[[nodiscard]] std::vector<double> real_values(const Operation& operation, std::string_view buffer);

}  // namespace servecast::kernels
