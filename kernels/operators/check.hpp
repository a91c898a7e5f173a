// How validate() speaks: it remembers the first thing that is wrong with an operation, as one sentence.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "kernels/operators/operator.hpp"

namespace servecast::kernels {

class Check {
 public:
  explicit Check(std::string_view operation) : operation_(operation) {}

  // `problem` says what is wrong when `holds` is false: "k is no multiple of group".
  Check& that(bool holds, std::string_view problem);
  Check& within(std::string_view name, std::int64_t value, std::int64_t least, std::int64_t most);
  Check& at_least(std::string_view name, std::int64_t value, std::int64_t least);
  // f32, f16 or bf16.
  Check& real(std::string_view name, DType type);
  // No operand may have more elements than `kMostElements`; counted without overflow. Requires factors ≥ 0 if all went
  // well so far.
  Check& fits(std::string_view name, std::initializer_list<std::int64_t> factors);
  // Each sequence computes something, and its tokens, old and new, have their entries in the table.
  Check& sequences(std::span<const SequenceSpan> sequences, std::int32_t page_size, std::int32_t width);

  // Asks for each operand that the shape has. Last, since sizes of an unsound shape mean nothing.
  template <class Op>
  Status operands(Op op) {
    if (!problem_.empty()) return status();
    for_each_buffer(op, [&](const Buffer& buffer, const auto* pointer) {
      if (buffer.elements > 0 && pointer == nullptr) missing(buffer.name);
    });
    return status();
  }

 private:
  [[nodiscard]] Status status() const;
  void missing(std::string_view name);
  void sequence(std::size_t index, const SequenceSpan& span, std::int64_t room);

  std::string_view operation_;
  std::string problem_;
};

constexpr std::int64_t kMostElements = std::int64_t{1} << 40;

}  // namespace servecast::kernels
