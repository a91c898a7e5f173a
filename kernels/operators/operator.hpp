// What all operators share. An operator is a plain struct: its shape, and where its operands lie. Beside it stand, in
// this order, its buffers (name, role, size of each operand), its validation and its work; its kernels and its
// reference live in the back ends and in reference/.
//
// for_each_buffer(op, visit) calls visit(Buffer, pointer&) once for each operand, in a fixed order. A buffer of no
// elements is an operand that this shape does not have: its pointer is null.
#pragma once

#include <cstdint>
#include <string_view>

#include "kernels/dtype.hpp"
#include "kernels/status.hpp"

namespace servecast::kernels {

enum class Role : std::uint8_t {
  kInput,
  kOutput,
  kInOut,      // read and written; what the operation does not name keeps its value
  kWorkspace,  // scratch: contents undefined before and after
};

struct Buffer {
  std::string_view name;
  Role role = Role::kInput;
  DType type = DType::kF32;
  std::int64_t elements = 0;

  [[nodiscard]] std::int64_t bytes() const { return bytes_of(type, elements); }
};

// What an operation has to do at least: each operand moved once. Counted as the cost model counts it.
struct Work {
  double flops = 0;
  double bytes = 0;
};

// One sequence's share of a launch: `query` new tokens behind `context` tokens that are cached already. The new
// tokens' keys and values are in the cache too, at positions context … context + query − 1.
struct SequenceSpan {
  std::int32_t query = 0;
  std::int32_t context = 0;
};

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace servecast::kernels
