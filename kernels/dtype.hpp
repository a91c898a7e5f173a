// Number formats that operators read and write. The conversions here are the host's: what a test or the CPU set needs.
#pragma once

#include <cstdint>
#include <string_view>

namespace servecast::kernels {

enum class DType : std::uint8_t {
  kF32,
  kF16,
  kBf16,
  kFp8,   // E4M3 (OCP 8-bit floating point, finite range ±448)
  kInt8,  // symmetric, with scales beside it
  kInt4,  // symmetric, two to a byte, low nibble first, stored with 8 added; scales beside it
  kI32,
  kI64,
};

[[nodiscard]] std::string_view name_of(DType type);

// Bytes that `elements` take; an odd number of int4 takes a whole last byte.
[[nodiscard]] constexpr std::int64_t bytes_of(DType type, std::int64_t elements) {
  switch (type) {
    case DType::kF32:
    case DType::kI32:
      return 4 * elements;
    case DType::kF16:
    case DType::kBf16:
      return 2 * elements;
    case DType::kFp8:
    case DType::kInt8:
      return elements;
    case DType::kInt4:
      return (elements + 1) / 2;
    case DType::kI64:
      return 8 * elements;
  }
  return 0;
}

// Rounds to the nearest value of the format, ties to even; NaN stays NaN. FP8 saturates at ±448, as serving kernels do.
[[nodiscard]] std::uint16_t to_bf16(float value);
[[nodiscard]] std::uint16_t to_f16(float value);
[[nodiscard]] std::uint8_t to_fp8(float value);
[[nodiscard]] float from_bf16(std::uint16_t bits);
[[nodiscard]] float from_f16(std::uint16_t bits);
[[nodiscard]] float from_fp8(std::uint8_t bits);

// One element of an array of `type`, without its scale; and the same written, rounded to the format.
[[nodiscard]] double load(DType type, const void* data, std::int64_t index);
void store(DType type, void* data, std::int64_t index, double value);

}  // namespace servecast::kernels
