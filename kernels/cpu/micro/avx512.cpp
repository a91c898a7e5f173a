// 512-bit vectors: tiles of 12 × 32, sums in 24 registers of 32; one or two rows take four panels at once, up to six
// take two, so that the multiply-adds in flight hide their latency.
#if defined(__x86_64__)

// GCC 12's header leaves unused operands uninitialised on purpose, and warns of it.
#if !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>
#if !defined(__clang__)
#pragma GCC diagnostic pop
#endif

#define SERVECAST_ISA __attribute__((target("avx512f")))
#include "kernels/cpu/micro/table_of.hpp"
#include "kernels/cpu/micro/tables.hpp"

namespace servecast::kernels::cpu {
namespace {

struct Avx512 {
  using Vector = __m512;
  static constexpr int kLanes = 16;
  static constexpr int kTileRows = 12;
  static constexpr int kTileVectors = 2;
  static constexpr int tile_panels(int rows) { return rows <= 2 ? 4 : rows <= 6 ? 2 : 1; }

  SERVECAST_LANE Vector load(const float* from) { return _mm512_loadu_ps(from); }
  SERVECAST_LANE void store(float* to, Vector value) { _mm512_storeu_ps(to, value); }
  SERVECAST_LANE Vector broadcast(float value) { return _mm512_set1_ps(value); }
  SERVECAST_LANE Vector multiply_add(Vector a, Vector b, Vector c) { return _mm512_fmadd_ps(a, b, c); }
  // As the instructions do it: the second where one is not a number.
  SERVECAST_LANE Vector max(Vector a, Vector b) { return _mm512_max_ps(a, b); }
  SERVECAST_LANE Vector min(Vector a, Vector b) { return _mm512_min_ps(a, b); }
  SERVECAST_LANE Vector round(Vector x) {
    return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
  SERVECAST_LANE Vector whole_power_of_two(Vector whole) {
    const __m512i biased = _mm512_add_epi32(_mm512_cvtps_epi32(whole), _mm512_set1_epi32(127));
    return _mm512_castsi512_ps(_mm512_slli_epi32(biased, 23));
  }
  // Lane i: the sum of all lanes of rows[i]. Neighbours are added in 128-bit quarters, then the quarters.
  SERVECAST_LANE Vector sums_of(const Vector (&rows)[kLanes]) {
    Vector fours[4];
    SERVECAST_UNROLL
    for (int i = 0; i < 4; ++i) {
      const Vector low = pairs(rows[4 * i], rows[4 * i + 1]);
      const Vector high = pairs(rows[4 * i + 2], rows[4 * i + 3]);
      fours[i] = _mm512_shuffle_ps(low, high, 0x44) + _mm512_shuffle_ps(low, high, 0xEE);
    }
    const Vector low = _mm512_shuffle_f32x4(fours[0], fours[1], 0x88) + _mm512_shuffle_f32x4(fours[0], fours[1], 0xDD);
    const Vector high = _mm512_shuffle_f32x4(fours[2], fours[3], 0x88) + _mm512_shuffle_f32x4(fours[2], fours[3], 0xDD);
    return _mm512_shuffle_f32x4(low, high, 0x88) + _mm512_shuffle_f32x4(low, high, 0xDD);
  }

 private:
  // In each quarter: a0 + a2, b0 + b2, a1 + a3, b1 + b3.
  SERVECAST_LANE Vector pairs(Vector a, Vector b) { return _mm512_unpacklo_ps(a, b) + _mm512_unpackhi_ps(a, b); }
};

}  // namespace

const Micro& avx512_micro() {
  static const Micro kMicro = table_of<Avx512>(Isa::kAvx512);
  return kMicro;
}

}  // namespace servecast::kernels::cpu

#endif
