// Vectors of four floats as the compiler maps them: tiles of 4 × 8, sums in 8 registers of 16.
#include <cstring>

#include "kernels/cpu/micro/table_of.hpp"
#include "kernels/cpu/micro/tables.hpp"

namespace servecast::kernels::cpu {
namespace {

struct Portable {
  using Vector = float __attribute__((vector_size(16)));
  using Integers = std::int32_t __attribute__((vector_size(16)));
  static constexpr int kLanes = 4;
  static constexpr int kTileRows = 4;
  static constexpr int kTileVectors = 2;
  static constexpr int tile_panels(int) { return 1; }

  SERVECAST_LANE Vector load(const float* from) {
    Vector value;
    std::memcpy(&value, from, sizeof value);
    return value;
  }
  SERVECAST_LANE void store(float* to, Vector value) { std::memcpy(to, &value, sizeof value); }
  SERVECAST_LANE Vector broadcast(float value) { return Vector{value, value, value, value}; }
  SERVECAST_LANE Vector multiply_add(Vector a, Vector b, Vector c) { return a * b + c; }
  // The second where one is not a number.
  SERVECAST_LANE Vector max(Vector a, Vector b) { return a > b ? a : b; }
  SERVECAST_LANE Vector min(Vector a, Vector b) { return a < b ? a : b; }
  // To the nearest, ties to even, for |x| < 2^22: the sum has no bits left behind the point.
  SERVECAST_LANE Vector round(Vector x) {
    const Vector shift = broadcast(12582912);  // 1.5 · 2^23
    return (x + shift) - shift;
  }
  SERVECAST_LANE Vector whole_power_of_two(Vector whole) {
    const Integers biased = (__builtin_convertvector(whole, Integers) + 127) << 23;
    Vector power;
    std::memcpy(&power, &biased, sizeof power);
    return power;
  }
  // Lane i: the sum of all lanes of rows[i].
  SERVECAST_LANE Vector sums_of(const Vector (&rows)[kLanes]) {
    const Vector a = {rows[0][0], rows[1][0], rows[2][0], rows[3][0]};
    const Vector b = {rows[0][1], rows[1][1], rows[2][1], rows[3][1]};
    const Vector c = {rows[0][2], rows[1][2], rows[2][2], rows[3][2]};
    const Vector d = {rows[0][3], rows[1][3], rows[2][3], rows[3][3]};
    return (a + c) + (b + d);
  }
};

}  // namespace

const Micro& portable_micro() {
  static const Micro kMicro = table_of<Portable>(Isa::kPortable);
  return kMicro;
}

}  // namespace servecast::kernels::cpu
