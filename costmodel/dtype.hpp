// Number formats: how many bits one element takes, as an exact fraction, so that half bytes are not lost.
#pragma once

#include <cstdint>
#include <string_view>

#include "sim/error.hpp"
#include "sim/units.hpp"

namespace servecast {

enum class DType : std::uint8_t { kFp32, kBf16, kFp16, kFp8, kInt8, kInt4, kMxfp4, kKivi2 };

struct BitsPerElement {
  std::int64_t numerator;
  std::int64_t denominator;
};

// Elements alone, except where the format fixes its scales: MXFP4 has one 8-bit scale per 32 elements
// (4.25 bits), KIVI-2 a 16-bit scale and a 16-bit zero per group of 32 (3 bits).
[[nodiscard]] constexpr BitsPerElement bits_per_element(DType type) {
  switch (type) {
    case DType::kFp32:
      return {32, 1};
    case DType::kBf16:
    case DType::kFp16:
      return {16, 1};
    case DType::kFp8:
    case DType::kInt8:
      return {8, 1};
    case DType::kInt4:
      return {4, 1};
    case DType::kMxfp4:
      return {17, 4};
    case DType::kKivi2:
      return {3, 1};
  }
  return {32, 1};
}

[[nodiscard]] constexpr double bytes_per_element(DType type) {
  const BitsPerElement bits = bits_per_element(type);
  return static_cast<double>(bits.numerator) / static_cast<double>(8 * bits.denominator);
}

// Bytes of `elements` packed one after another, rounded up to whole bytes once. Requires elements < 2^57.
[[nodiscard]] constexpr Bytes packed_bytes(std::int64_t elements, DType type) {
  const BitsPerElement bits = bits_per_element(type);
  const std::int64_t divisor = 8 * bits.denominator;
  const std::int64_t whole = elements / divisor * bits.numerator;  // first, so that large counts do not overflow
  const std::int64_t rest = elements % divisor * bits.numerator;
  return Bytes{whole + (rest + divisor - 1) / divisor};
}

[[nodiscard]] std::string_view dtype_name(DType type);

// Also takes the spellings of Hugging Face configs (bfloat16, float16, float32). Throws InputError at `place`.
[[nodiscard]] DType parse_dtype(std::string_view text, const InputPlace& place = {});

}  // namespace servecast
