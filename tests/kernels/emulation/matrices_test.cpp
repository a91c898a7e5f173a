#include <cmath>
#include <cstdint>
#include <doctest/doctest.h>
#include <random>
#include <vector>

#include "kernels/emulation/formats.hpp"
#include "tests/kernels/emulation/launches.hpp"

// The layouts here are those of the PTX ISA, element by element as it states them, so that they are a second source
// beside the emulator's own.
namespace servecast::kernels::SERVECAST_DEVICE {
namespace {

constexpr unsigned kLanes = 32;

// Element i of a lane's fragment, two to a register, is element (row, column) of the matrix.
struct Element {
  std::size_t row;
  std::size_t column;
};

Element a_element(std::size_t lane, std::size_t i) {
  const bool upper = i < 2 || (i >= 4 && i < 6);
  return {upper ? lane / 4 : lane / 4 + 8, lane % 4 * 2 + i % 2 + (i < 4 ? 0 : 8)};
}
Element b_element(std::size_t lane, std::size_t i) { return {lane % 4 * 2 + i % 2 + (i < 2 ? 0 : 8), lane / 4}; }
Element d_element(std::size_t lane, std::size_t i) { return {i < 2 ? lane / 4 : lane / 4 + 8, lane % 4 * 2 + i % 2}; }

std::uint16_t bits_of(Bf16 value) { return value.bits; }
std::uint16_t bits_of(F16 value) { return value.bits; }

template <class T>
std::vector<T> random_matrix(std::size_t elements, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  std::vector<T> matrix(elements);
  for (T& element : matrix) element = from_float<T>(normal(generator));
  return matrix;
}

struct Fragments {
  std::vector<std::uint32_t> a;  // [lanes][registers]
  std::vector<std::uint32_t> b;
  std::vector<float> d;  // [lanes][4]
};

template <class T, class Map>
std::vector<std::uint32_t> fragment(const std::vector<T>& matrix, std::size_t columns, std::size_t registers, Map map) {
  std::vector<std::uint32_t> words(kLanes * registers);
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    for (std::size_t i = 0; i < 2 * registers; ++i) {
      const Element element = map(lane, i);
      const std::uint32_t bits = bits_of(matrix[element.row * columns + element.column]);
      words[lane * registers + i / 2] |= bits << (i % 2 * 16);
    }
  }
  return words;
}

template <class T>
__global__ void product_16(const std::uint32_t* a, const std::uint32_t* b, float* d) {
  const unsigned t = threadIdx.x;
  const std::uint32_t mine[4] = {a[4 * t], a[4 * t + 1], a[4 * t + 2], a[4 * t + 3]};
  float sums[4] = {d[4 * t], d[4 * t + 1], d[4 * t + 2], d[4 * t + 3]};
  mma_m16n8k16<T>(sums, mine, b[2 * t], b[2 * t + 1]);
  for (unsigned i = 0; i < 4; ++i) d[4 * t + i] = sums[i];
}

__global__ void product_8(const std::uint32_t* a, const std::uint32_t* b, float* d) {
  const unsigned t = threadIdx.x;
  float sums[4] = {d[4 * t], d[4 * t + 1], d[4 * t + 2], d[4 * t + 3]};
  mma_m16n8k8(sums, a[2 * t], a[2 * t + 1], b[t]);
  for (unsigned i = 0; i < 4; ++i) d[4 * t + i] = sums[i];
}

// d is asymmetric, so that a transposed or shifted fragment shows.
template <class T, class Launch>
void check_product(std::size_t depth, Launch run) {
  const auto a = random_matrix<T>(16 * depth, 1);
  const auto b = random_matrix<T>(depth * 8, 2);
  const Fragments fragments{fragment(a, depth, depth / 4, a_element), fragment(b, 8, depth / 8, b_element), {}};
  std::vector<float> d(std::size_t{kLanes} * 4);
  for (std::size_t i = 0; i < d.size(); ++i) d[i] = static_cast<float>(i) / 16;
  const std::vector<float> before = d;
  REQUIRE(run(fragments.a.data(), fragments.b.data(), d.data()).ok());
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    for (std::size_t i = 0; i < 4; ++i) {
      const Element element = d_element(lane, i);
      double expected = before[lane * 4 + i];
      for (std::size_t k = 0; k < depth; ++k) {
        expected += double{to_float(a[element.row * depth + k])} * double{to_float(b[k * 8 + element.column])};
      }
      CHECK(d[lane * 4 + i] == doctest::Approx(expected).epsilon(1e-5));
    }
  }
}

template <unsigned kMatrices, bool kTransposed>
__global__ void load(const std::uint16_t* matrices, std::uint32_t* out) {
  auto* const shared = dynamic_shared<std::uint16_t>();
  const unsigned t = threadIdx.x;
  for (unsigned i = t; i < kMatrices * 64; i += kLanes) shared[i] = matrices[i];
  __syncthreads();
  const std::uint16_t* const row = shared + t % (8 * kMatrices) * 8;
  std::uint32_t registers[kMatrices];
  if constexpr (kMatrices == 4 && kTransposed) {
    ldmatrix_x4_trans(registers, row);
  } else if constexpr (kMatrices == 4) {
    ldmatrix_x4(registers, row);
  } else if constexpr (kTransposed) {
    ldmatrix_x2_trans(registers, row);
  } else {
    ldmatrix_x2(registers, row);
  }
  for (unsigned i = 0; i < kMatrices; ++i) out[t * kMatrices + i] = registers[i];
}

template <unsigned kMatrices, bool kTransposed>
void check_load(const emulation::Options& options) {
  std::vector<std::uint16_t> matrices(kMatrices * 64);
  for (std::size_t i = 0; i < matrices.size(); ++i) matrices[i] = static_cast<std::uint16_t>(1000 + i);
  std::vector<std::uint32_t> out(kLanes * kMatrices);
  const Grid grid = one_block(kLanes, kMatrices * 128, &options);
  REQUIRE(launch(load<kMatrices, kTransposed>, grid, matrices.data(), out.data()).ok());
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    for (std::size_t matrix = 0; matrix < kMatrices; ++matrix) {
      for (std::size_t half = 0; half < 2; ++half) {
        const std::size_t row = kTransposed ? lane % 4 * 2 + half : lane / 4;
        const std::size_t column = kTransposed ? lane / 4 : lane % 4 * 2 + half;
        CHECK((out[lane * kMatrices + matrix] >> (16 * half) & 0xffffU) == matrices[matrix * 64 + row * 8 + column]);
      }
    }
  }
}

}  // namespace

TEST_CASE("mma.m16n8k16 is a matrix product of the fragments that the PTX ISA defines") {
  for (const emulation::Options& options : all_orders()) {
    const Grid grid = one_block(kLanes, 0, &options);
    check_product<Bf16>(16, [&](auto*... operands) { return launch(product_16<Bf16>, grid, operands...); });
    check_product<F16>(16, [&](auto*... operands) { return launch(product_16<F16>, grid, operands...); });
  }
}

TEST_CASE("mma.m16n8k8 is a matrix product of the fragments that the PTX ISA defines, on sm_75 too") {
  const emulation::Options turing{.architecture = 75};
  check_product<F16>(8,
                     [&](auto*... operands) { return launch(product_8, one_block(kLanes, 0, &turing), operands...); });
}

TEST_CASE("ldmatrix gives every lane its elements of each matrix") {
  for (const emulation::Options& options : all_orders()) {
    check_load<2, false>(options);
    check_load<4, false>(options);
    check_load<2, true>(options);
    check_load<4, true>(options);
  }
}

TEST_CASE("packed pairs and fours unpack to what was packed") {
  const float2 bf16 = unpack2<Bf16>(pack2<Bf16>(1.5F, -3.0F));
  const float2 f16 = unpack2<F16>(pack2<F16>(0.25F, 7.0F));
  CHECK(bf16.x == 1.5F);
  CHECK(bf16.y == -3.0F);
  CHECK(f16.x == 0.25F);
  CHECK(f16.y == 7.0F);
  float four[4];
  unpack4_int8(0x80ff7f01U, four);
  CHECK(std::vector<float>(four, four + 4) == std::vector<float>{1, 127, -1, -128});
  unpack4_fp8(0xb8387e00U, four);
  CHECK(std::vector<float>(four, four + 4) == std::vector<float>{0, 448, 1, -1});
}

}  // namespace servecast::kernels::SERVECAST_DEVICE
