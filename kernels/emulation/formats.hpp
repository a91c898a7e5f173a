// 16-bit and 8-bit floating-point formats, without help of compiler or hardware: round to nearest, ties to even.
#pragma once

#include <bit>
#include <cstdint>

namespace servecast::kernels::emulation {

inline float float_of_bf16(std::uint32_t bits) { return std::bit_cast<float>(bits << 16); }

inline std::uint16_t bf16_of(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return 0x7fff;
  return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

// Shifted into place, the number is off by the difference of the exponents' biases, 2^112, also where it is
// subnormal. Infinity and NaN need their exponent set.
inline float float_of_f16(std::uint32_t bits) {
  const float magnitude = std::bit_cast<float>((bits & 0x7fffU) << 13) * 0x1p112F;
  const std::uint32_t special = (bits & 0x7c00U) == 0x7c00U ? 0x7f800000U : 0U;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | special | ((bits & 0x8000U) << 16));
}

inline std::uint16_t f16_of(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000U);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  std::uint32_t result = 0;
  if (magnitude > 0x7f800000U) {
    result = 0x7fff;
  } else if (magnitude >= 0x477ff000U) {  // 65520, halfway between the largest number and the next
    result = 0x7c00;
  } else if (magnitude < 0x38800000U) {  // below 2^-14: subnormal. At 0.5, the last place of a float is 2^-24.
    result = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - std::bit_cast<std::uint32_t>(0.5F);
  } else {
    result = (magnitude + 0xfffU + ((magnitude >> 13) & 1U) - (112U << 23)) >> 13;
  }
  return static_cast<std::uint16_t>(sign | result);
}

// E4M3: bias 7, no infinity, 0x7f is NaN.
inline float float_of_fp8(std::uint32_t bits) {
  const std::uint32_t sign = (bits & 0x80U) << 24;
  if ((bits & 0x7fU) == 0x7fU) return std::bit_cast<float>(sign | 0x7fc00000U);
  const float magnitude = std::bit_cast<float>((bits & 0x7fU) << 20) * 0x1p120F;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
}

// Saturates at ±448.
inline std::uint8_t fp8_of(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 24) & 0x80U;
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  std::uint32_t result = 0;
  if (magnitude > 0x7f800000U) {
    result = 0x7f;
  } else if (magnitude >= 0x43e00000U) {  // 448
    result = 0x7e;
  } else if (magnitude < 0x3c800000U) {  // below 2^-6: subnormal. At 2^14, the last place of a float is 2^-9.
    result =
        std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0x1p14F) - std::bit_cast<std::uint32_t>(0x1p14F);
  } else {
    result = (magnitude + 0x7ffffU + ((magnitude >> 20) & 1U) - (120U << 23)) >> 20;
  }
  return static_cast<std::uint8_t>(sign | result);
}

}  // namespace servecast::kernels::emulation
