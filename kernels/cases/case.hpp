// One operation with its inputs: what a test judges, a benchmark times and calibration measures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "kernels/operation.hpp"

namespace servecast::kernels {

// A shape to try. `operation` has no pointers; for attention, `sequences` are its sequences, and the number of pages
// and the width of the block table are what they need.
struct CaseShape {
  std::string name;
  Operation operation;
  std::vector<SequenceSpan> sequences;
  std::uint64_t seed = 1;
};

// One operand as it is before the launch.
struct Operand {
  Buffer buffer;
  std::vector<std::byte> bytes;
};

// Inputs are drawn from the seed so that mistakes show: ragged sequences on shuffled pages; NaN in unused pages, behind
// the end of each sequence, in outputs and in workspaces; every head, row and expert with numbers of its own; choices
// of tokens and experts clear of rounding. Equal shapes give equal cases.
class Case {
 public:
  explicit Case(CaseShape shape);
  Case(Case&&) = default;
  Case& operator=(Case&&) = default;
  Case(const Case&) = delete;
  Case& operator=(const Case&) = delete;
  ~Case() = default;

  [[nodiscard]] const std::string& name() const { return shape_.name; }
  // Its pointers are the operands' bytes in host memory. Lives as long as the case.
  [[nodiscard]] const Operation& operation() const { return shape_.operation; }
  // In the order of for_each_buffer.
  [[nodiscard]] const std::vector<Operand>& operands() const { return operands_; }
  [[nodiscard]] std::int64_t operand_bytes() const;

 private:
  CaseShape shape_;
  std::vector<Operand> operands_;
};

// The operation with its i-th operand at address(i); operands of no elements get null.
template <class Address>
[[nodiscard]] Operation relocated(Operation operation, Address&& address) {
  std::size_t index = 0;
  for_each_buffer(operation, [&](const Buffer& buffer, auto*& pointer) {
    using Pointer = std::remove_reference_t<decltype(pointer)>;
    void* to = buffer.elements > 0 ? address(index) : nullptr;
    pointer = static_cast<Pointer>(to);
    ++index;
  });
  return operation;
}

}  // namespace servecast::kernels
