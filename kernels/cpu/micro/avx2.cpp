// 256-bit vectors with FMA: tiles of 6 × 16, sums in 12 registers of 16; one or two rows take two panels at once.
#if defined(__x86_64__)

#include <immintrin.h>

#define SERVECAST_ISA __attribute__((target("avx2,fma")))
#include "kernels/cpu/micro/table_of.hpp"
#include "kernels/cpu/micro/tables.hpp"

namespace servecast::kernels::cpu {
namespace {

struct Avx2 {
  using Vector = __m256;
  static constexpr int kLanes = 8;
  static constexpr int kTileRows = 6;
  static constexpr int kTileVectors = 2;
  static constexpr int tile_panels(int rows) { return rows == 1 ? 4 : rows == 2 ? 2 : 1; }

  SERVECAST_LANE Vector load(const float* from) { return _mm256_loadu_ps(from); }
  SERVECAST_LANE void store(float* to, Vector value) { _mm256_storeu_ps(to, value); }
  SERVECAST_LANE Vector broadcast(float value) { return _mm256_set1_ps(value); }
  SERVECAST_LANE Vector multiply_add(Vector a, Vector b, Vector c) { return _mm256_fmadd_ps(a, b, c); }
  // As the instructions do it: the second where one is not a number.
  SERVECAST_LANE Vector max(Vector a, Vector b) { return _mm256_max_ps(a, b); }
  SERVECAST_LANE Vector min(Vector a, Vector b) { return _mm256_min_ps(a, b); }
  SERVECAST_LANE Vector round(Vector x) { return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
  SERVECAST_LANE Vector whole_power_of_two(Vector whole) {
    const __m256i biased = _mm256_add_epi32(_mm256_cvtps_epi32(whole), _mm256_set1_epi32(127));
    return _mm256_castsi256_ps(_mm256_slli_epi32(biased, 23));
  }
  // Lane i: the sum of all lanes of rows[i]. Neighbours are added in 128-bit halves, then the halves.
  SERVECAST_LANE Vector sums_of(const Vector (&rows)[kLanes]) {
    const Vector low = _mm256_hadd_ps(_mm256_hadd_ps(rows[0], rows[1]), _mm256_hadd_ps(rows[2], rows[3]));
    const Vector high = _mm256_hadd_ps(_mm256_hadd_ps(rows[4], rows[5]), _mm256_hadd_ps(rows[6], rows[7]));
    return _mm256_permute2f128_ps(low, high, 0x20) + _mm256_permute2f128_ps(low, high, 0x31);
  }
};

}  // namespace

const Micro& avx2_micro() {
  static const Micro kMicro = table_of<Avx2>(Isa::kAvx2);
  return kMicro;
}

}  // namespace servecast::kernels::cpu

#endif
