#include "kernels/dtype.hpp"

#include <array>
#include <cmath>
#include <doctest/doctest.h>
#include <limits>

using namespace servecast::kernels;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// All neighbours a < b of a format from 0 to `largest` (bits): each comes back as it is, the middle goes to the even
// one, and what lies just beside the middle to the nearer.
template <class To, class From>
void check_rounding(std::uint32_t largest, To to, From from) {
  int wrong = 0;
  using Bits = decltype(to(0.0F));
  for (std::uint32_t bits = 0; bits < largest; ++bits) {
    const auto lower = static_cast<Bits>(bits);
    const auto upper = static_cast<Bits>(bits + 1);
    const float middle = from(lower) / 2 + from(upper) / 2;
    wrong += to(from(lower)) != lower;
    wrong += to(middle) != (bits % 2 == 0 ? lower : upper);
    wrong += to(std::nextafter(middle, 0.0F)) != lower;
    wrong += to(std::nextafter(middle, kInfinity)) != upper;
    wrong += from(to(-from(lower))) != -from(lower);
  }
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("every bf16 and fp16 number survives, and what lies between rounds to the nearest, ties to even") {
  check_rounding(0x7F7F, to_bf16, from_bf16);
  check_rounding(0x7BFF, to_f16, from_f16);
}

TEST_CASE("every fp8 number survives, and what lies between rounds to the nearest, ties to even") {
  check_rounding(0x7E, to_fp8, from_fp8);
}

TEST_CASE("numbers of the formats are those of their definitions") {
  CHECK(from_bf16(0x3F80) == 1.0F);
  CHECK(from_bf16(0xC049) == -3.140625F);
  CHECK(from_f16(0x3C00) == 1.0F);
  CHECK(from_f16(0x7BFF) == 65504.0F);
  CHECK(from_f16(0x0001) == std::ldexp(1.0F, -24));
  CHECK(from_f16(0x8400) == -std::ldexp(1.0F, -14));
  CHECK(from_fp8(0x7E) == 448.0F);
  CHECK(from_fp8(0x38) == 1.0F);
  CHECK(from_fp8(0x01) == std::ldexp(1.0F, -9));
  CHECK(from_fp8(0x88) == -std::ldexp(1.0F, -6));
}

TEST_CASE("beyond the largest number bf16 and fp16 overflow and fp8 saturates") {
  CHECK(from_f16(to_f16(65519.9F)) == 65504.0F);
  CHECK(from_f16(to_f16(65520.0F)) == kInfinity);
  CHECK(from_f16(to_f16(-kInfinity)) == -kInfinity);
  CHECK(from_bf16(to_bf16(std::numeric_limits<float>::max())) == kInfinity);
  CHECK(from_fp8(to_fp8(1e9F)) == 448.0F);
  CHECK(from_fp8(to_fp8(-kInfinity)) == -448.0F);
}

TEST_CASE("NaN stays NaN, and zero keeps its sign") {
  CHECK(std::isnan(from_bf16(to_bf16(kNan))));
  CHECK(std::isnan(from_f16(to_f16(kNan))));
  CHECK(std::isnan(from_fp8(to_fp8(kNan))));
  CHECK(to_bf16(-0.0F) == 0x8000);
  CHECK(to_f16(-0.0F) == 0x8000);
  CHECK(to_fp8(-0.0F) == 0x80);
  CHECK(std::signbit(from_fp8(0x80)));
  CHECK(std::signbit(from_f16(0x8000)));
}

TEST_CASE("int4 lies two to a byte, the low nibble first, with 8 added") {
  std::array<std::uint8_t, 2> bytes = {0, 0};
  store(DType::kInt4, bytes.data(), 0, -8);
  store(DType::kInt4, bytes.data(), 1, 7);
  store(DType::kInt4, bytes.data(), 2, 0);
  CHECK(bytes[0] == 0xF0);
  CHECK(bytes[1] == 0x08);
  CHECK(load(DType::kInt4, bytes.data(), 0) == -8);
  CHECK(load(DType::kInt4, bytes.data(), 1) == 7);
  CHECK(load(DType::kInt4, bytes.data(), 2) == 0);
  CHECK(bytes_of(DType::kInt4, 3) == 2);
}

TEST_CASE("int8 is stored rounded to even and symmetric") {
  std::array<std::int8_t, 3> bytes = {};
  store(DType::kInt8, bytes.data(), 0, 2.5);
  store(DType::kInt8, bytes.data(), 1, -200);
  store(DType::kInt8, bytes.data(), 2, 3.5);
  CHECK(bytes == std::array<std::int8_t, 3>{2, -127, 4});
}
