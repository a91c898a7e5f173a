#include "kernels/dtype.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace servecast::kernels {
namespace {

constexpr std::uint32_t kInfinity = 0x7F800000U;

float power_of_two(int exponent) { return std::bit_cast<float>(static_cast<std::uint32_t>(exponent + 127) << 23); }

// Sign and magnitude of a small float format with `mantissa` bits and smallest normal exponent 1 − bias: `magnitude`
// rounded to it, ties to even. Requires a finite magnitude that rounds to a value of the format.
std::uint32_t small_float(float magnitude, int mantissa, int bias) {
  const int exponent = static_cast<int>(std::bit_cast<std::uint32_t>(magnitude) >> 23) - 127;
  const int scale = std::max(exponent, 1 - bias);
  // Exact: a power of two. The product is below 2^(mantissa + 1), so that rounding it rounds the last bit kept.
  const auto steps = static_cast<int>(std::nearbyint(magnitude * power_of_two(mantissa - scale)));
  const int hidden = 1 << mantissa;
  // A carry into the exponent comes out of the addition by itself; below `hidden` the number is subnormal.
  return static_cast<std::uint32_t>(steps < hidden ? steps : ((scale + bias) << mantissa) + steps - hidden);
}

template <class T>
T element(const void* data, std::int64_t index) {
  T value;
  std::memcpy(&value, static_cast<const char*>(data) + index * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return value;
}

template <class T>
void set_element(void* data, std::int64_t index, T value) {
  std::memcpy(static_cast<char*>(data) + index * static_cast<std::int64_t>(sizeof(T)), &value, sizeof(T));
}

int nibble(const void* data, std::int64_t index) {
  const auto byte = element<std::uint8_t>(data, index / 2);
  return (index % 2 == 0 ? byte & 0xF : byte >> 4) - 8;
}

void set_nibble(void* data, std::int64_t index, double value) {
  const auto stored = static_cast<unsigned>(std::clamp(std::nearbyint(value), -8.0, 7.0) + 8);
  const unsigned byte = element<std::uint8_t>(data, index / 2);
  const unsigned next = index % 2 == 0 ? (byte & 0xF0U) | stored : (byte & 0xFU) | (stored << 4);
  set_element(data, index / 2, static_cast<std::uint8_t>(next));
}

}  // namespace

std::string_view name_of(DType type) {
  switch (type) {
    case DType::kF32:
      return "f32";
    case DType::kF16:
      return "f16";
    case DType::kBf16:
      return "bf16";
    case DType::kFp8:
      return "fp8";
    case DType::kInt8:
      return "int8";
    case DType::kInt4:
      return "int4";
    case DType::kI32:
      return "i32";
    case DType::kI64:
      return "i64";
  }
  return "?";
}

std::uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & ~0x80000000U) > kInfinity) return static_cast<std::uint16_t>((bits >> 16) | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16);
}

std::uint16_t to_f16(float value) {
  const std::uint32_t sign = (std::bit_cast<std::uint32_t>(value) >> 16) & 0x8000U;
  if (std::isnan(value)) return static_cast<std::uint16_t>(sign | 0x7E00U);
  const float magnitude = std::abs(value);
  // Half a step above the largest, 65504: what reaches it rounds to infinity.
  if (magnitude >= 65520.0F) return static_cast<std::uint16_t>(sign | 0x7C00U);
  return static_cast<std::uint16_t>(sign | small_float(magnitude, 10, 15));
}

std::uint8_t to_fp8(float value) {
  const std::uint32_t sign = (std::bit_cast<std::uint32_t>(value) >> 24) & 0x80U;
  if (std::isnan(value)) return static_cast<std::uint8_t>(sign | 0x7FU);
  return static_cast<std::uint8_t>(sign | small_float(std::min(std::abs(value), 448.0F), 3, 7));
}

float from_bf16(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

float from_f16(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000U) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1FU;
  const std::uint32_t mantissa = bits & 0x3FFU;
  if (exponent == 0) return std::copysign(static_cast<float>(mantissa) * power_of_two(-24), std::bit_cast<float>(sign));
  const std::uint32_t wide = exponent == 0x1FU ? 0xFFU : exponent + 112U;
  return std::bit_cast<float>(sign | (wide << 23) | (mantissa << 13));
}

float from_fp8(std::uint8_t bits) {
  const float sign = (bits & 0x80U) != 0 ? -1.0F : 1.0F;
  const std::uint32_t exponent = (bits >> 3) & 0xFU;
  const std::uint32_t mantissa = bits & 7U;
  if ((bits & 0x7FU) == 0x7FU) return std::bit_cast<float>(kInfinity | 0x400000U);
  if (exponent == 0) return sign * static_cast<float>(mantissa) * power_of_two(-9);
  return sign * std::bit_cast<float>(((exponent + 120U) << 23) | (mantissa << 20));
}

double load(DType type, const void* data, std::int64_t index) {
  switch (type) {
    case DType::kF32:
      return element<float>(data, index);
    case DType::kF16:
      return from_f16(element<std::uint16_t>(data, index));
    case DType::kBf16:
      return from_bf16(element<std::uint16_t>(data, index));
    case DType::kFp8:
      return from_fp8(element<std::uint8_t>(data, index));
    case DType::kInt8:
      return element<std::int8_t>(data, index);
    case DType::kInt4:
      return nibble(data, index);
    case DType::kI32:
      return element<std::int32_t>(data, index);
    case DType::kI64:
      return static_cast<double>(element<std::int64_t>(data, index));
  }
  return 0;
}

void store(DType type, void* data, std::int64_t index, double value) {
  const auto narrow = static_cast<float>(value);
  switch (type) {
    case DType::kF32:
      return set_element(data, index, narrow);
    case DType::kF16:
      return set_element(data, index, to_f16(narrow));
    case DType::kBf16:
      return set_element(data, index, to_bf16(narrow));
    case DType::kFp8:
      return set_element(data, index, to_fp8(narrow));
    case DType::kInt8:
      return set_element(data, index, static_cast<std::int8_t>(std::clamp(std::nearbyint(value), -127.0, 127.0)));
    case DType::kInt4:
      return set_nibble(data, index, value);
    case DType::kI32:
      return set_element(data, index, static_cast<std::int32_t>(std::nearbyint(value)));
    case DType::kI64:
      return set_element(data, index, static_cast<std::int64_t>(std::nearbyint(value)));
  }
}

}  // namespace servecast::kernels
