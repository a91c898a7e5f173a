#include "kernels/emulation/formats.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <doctest/doctest.h>
#include <limits>
#include <random>

namespace servecast::kernels::emulation {
namespace {

// A binary format by its definition: what its bits mean, and the nearest of them by comparing neighbours in double.
struct Format {
  int exponent_bits;
  int mantissa_bits;
  std::uint32_t largest;  // bits of the largest finite magnitude
  bool saturates;

  [[nodiscard]] int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  [[nodiscard]] double magnitude(std::uint32_t bits) const {
    const auto exponent = static_cast<int>(bits >> mantissa_bits);
    const double fraction = bits & ((1U << mantissa_bits) - 1U);
    if (exponent == 0) return std::ldexp(fraction, 1 - bias() - mantissa_bits);
    return std::ldexp(fraction + std::ldexp(1.0, mantissa_bits), exponent - bias() - mantissa_bits);
  }
  [[nodiscard]] std::uint32_t nearest(double value) const {
    const double wanted = std::abs(value);
    std::uint32_t below = 0;
    for (std::uint32_t step = 1U << (exponent_bits + mantissa_bits); step != 0; step /= 2) {
      if (below + step <= largest && magnitude(below + step) <= wanted) below += step;
    }
    if (below == largest && saturates) return below;
    const double middle = (magnitude(below) + magnitude(below + 1)) / 2;  // beyond the largest: what would come next
    if (wanted > middle || (wanted == middle && below % 2 == 1)) ++below;
    return below;
  }
};

constexpr Format kBf16{8, 7, 0x7f7f, false};
constexpr Format kF16{5, 10, 0x7bff, false};
constexpr Format kFp8{4, 3, 0x7e, true};

template <class Decode>
void check_decodes(const Format& format, Decode decode) {
  const std::uint32_t sign = 1U << (format.exponent_bits + format.mantissa_bits);
  for (std::uint32_t bits = 0; bits <= format.largest; ++bits) {
    REQUIRE(decode(bits) == format.magnitude(bits));
    REQUIRE(decode(bits | sign) == -format.magnitude(bits));
    REQUIRE(std::signbit(decode(bits | sign)));
  }
}

template <class Encode>
void check_encodes(const Format& format, Encode encode) {
  const std::uint32_t sign = 1U << (format.exponent_bits + format.mantissa_bits);
  const auto check = [&](float value) {
    REQUIRE(encode(value) == format.nearest(value));
    REQUIRE(encode(-value) == (format.nearest(value) | sign));
  };
  for (std::uint32_t bits = 0; bits < format.largest; ++bits) {
    const double here = format.magnitude(bits);
    const auto middle = static_cast<float>((here + format.magnitude(bits + 1)) / 2);  // exact in float
    check(static_cast<float>(here));
    check(middle);
    check(std::nextafter(middle, 0.0F));
    check(std::nextafter(middle, std::numeric_limits<float>::infinity()));
  }
  std::mt19937 generator(1);
  for (int i = 0; i < 100000; ++i) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(generator()) & 0x7fffffffU);
    if (std::isfinite(value)) check(value);
  }
}

}  // namespace

TEST_CASE("every number of the three formats has the value that its definition gives") {
  check_decodes(kBf16, float_of_bf16);
  check_decodes(kF16, float_of_f16);
  check_decodes(kFp8, float_of_fp8);
}

TEST_CASE("numbers round to the nearest of the format, ties to even") {
  check_encodes(kBf16, bf16_of);
  check_encodes(kF16, f16_of);
  check_encodes(kFp8, fp8_of);
}

TEST_CASE("infinities stay where the format has them, and NaN is NaN") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  CHECK(bf16_of(kInfinity) == 0x7f80);
  CHECK(f16_of(-kInfinity) == 0xfc00);
  CHECK(fp8_of(kInfinity) == 0x7e);
  CHECK(float_of_bf16(0xff80) == -kInfinity);
  CHECK(float_of_f16(0x7c00) == kInfinity);
  CHECK(std::isnan(float_of_bf16(bf16_of(kNaN))));
  CHECK(std::isnan(float_of_f16(f16_of(kNaN))));
  CHECK(std::isnan(float_of_fp8(fp8_of(kNaN))));
  CHECK(std::isnan(float_of_f16(0x7c01)));
}

}  // namespace servecast::kernels::emulation
