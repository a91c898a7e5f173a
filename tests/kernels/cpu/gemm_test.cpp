#include <cmath>

#include "kernels/dtype.hpp"
#include "tests/kernels/cpu/backends.hpp"

using namespace servecast::kernels;

namespace {

struct Shape {
  std::int32_t m;
  std::int32_t n;
  std::int32_t k;
};

Gemm gemm_of(const Shape& shape) {
  Gemm gemm;
  gemm.type = gemm.weight_type = DType::kF32;
  gemm.m = shape.m;
  gemm.n = shape.n;
  gemm.k = shape.k;
  return gemm;
}

std::vector<float> by_rows(Backend& backend, const Shape& shape, const std::vector<float>& x,
                           const std::vector<float>& weights) {
  std::vector<float> y(static_cast<std::size_t>(shape.m) * static_cast<std::size_t>(shape.n), NAN);
  Gemm gemm = gemm_of(shape);
  gemm.x = x.data();
  gemm.weights = weights.data();
  gemm.y = y.data();
  launch(backend, gemm);
  return y;
}

std::vector<float> by_panels(Backend& backend, const Shape& shape, const std::vector<float>& x,
                             const std::vector<float>& weights) {
  std::vector<float> y(static_cast<std::size_t>(shape.m) * static_cast<std::size_t>(shape.n), NAN);
  Gemm gemm = gemm_of(shape);
  gemm.layout = WeightLayout::kPanels;
  std::vector<float> panels(static_cast<std::size_t>(gemm.weight_elements()), NAN);
  pack_panels(weights.data(), shape.n, shape.k, panels.data());
  gemm.x = x.data();
  gemm.weights = panels.data();
  gemm.y = y.data();
  launch(backend, gemm);
  return y;
}

// ‖y − x · wᵀ‖ / ‖x · wᵀ‖ against a double loop.
double error_of(const Shape& shape, const std::vector<float>& x, const std::vector<float>& weights,
                const std::vector<float>& y) {
  double error = 0;
  double norm = 0;
  for (std::int64_t r = 0; r < shape.m; ++r) {
    for (std::int64_t c = 0; c < shape.n; ++c) {
      double sum = 0;
      for (std::int64_t k = 0; k < shape.k; ++k) {
        sum += double{x[static_cast<std::size_t>(r * shape.k + k)]} *
               double{weights[static_cast<std::size_t>(c * shape.k + k)]};
      }
      error += std::pow(double{y[static_cast<std::size_t>(r * shape.n + c)]} - sum, 2);
      norm += sum * sum;
    }
  }
  return std::sqrt(error / norm);
}

std::int64_t elements(std::int32_t a, std::int32_t b) { return std::int64_t{a} * b; }

}  // namespace

TEST_CASE("ragged products are as exact as f32 sums are, on every instruction set and in both layouts") {
  const Shape shapes[] = {{1, 1, 1},     {1, 31, 7},    {1, 128, 64},   {2, 33, 5},    {3, 65, 130},
                          {4, 100, 257}, {5, 97, 2049}, {6, 160, 2500}, {7, 32, 16},   {11, 129, 31},
                          {12, 64, 48},  {13, 31, 300}, {25, 70, 99},   {257, 40, 20}, {300, 33, 17}};
  for (const auto isa : isas()) {
    const auto backend = backend_with(isa);
    for (const Shape& shape : shapes) {
      CAPTURE(cpu::name_of(isa));
      CAPTURE(shape.m);
      CAPTURE(shape.n);
      CAPTURE(shape.k);
      const auto x = numbers(elements(shape.m, shape.k), 1);
      const auto weights = numbers(elements(shape.n, shape.k), 2);
      const auto y = by_panels(*backend, shape, x, weights);
      CHECK(error_of(shape, x, weights, y) < 3e-6);
      // Packing is a matter of time only: the bits are the same.
      CHECK(by_rows(*backend, shape, x, weights) == y);
    }
  }
}

TEST_CASE("a row's product does not depend on how many rows come with it, nor on threads") {
  const Shape all{37, 161, 300};
  const auto x = numbers(elements(all.m, all.k), 3);
  const auto weights = numbers(elements(all.n, all.k), 4);
  for (const auto isa : isas()) {
    const auto backend = backend_with(isa);
    const auto together = by_panels(*backend, all, x, weights);
    for (std::int32_t m = 1; m <= 14; ++m) {
      const auto few = by_panels(*backend, {m, all.n, all.k}, x, weights);
      CHECK(std::equal(few.begin(), few.end(), together.begin()));
    }
    CHECK(by_panels(*backend_with(isa, 3), all, x, weights) == together);
  }
}

TEST_CASE("quantised weights give the bits of the f32 weights that they stand for") {
  const Shape shape{5, 45, 96};
  constexpr std::int32_t kGroup = 32;
  const auto x = numbers(elements(shape.m, shape.k), 5);
  const auto stored = numbers(elements(shape.n, shape.k), 6);
  for (const DType type : {DType::kInt8, DType::kInt4}) {
    const std::int32_t group = type == DType::kInt8 ? shape.k : kGroup;
    const auto scales = numbers(elements(shape.n, shape.k / group), 7);
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(bytes_of(type, elements(shape.n, shape.k))));
    std::vector<float> real(stored.size());
    for (std::size_t i = 0; i < stored.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      store(type, bytes.data(), at, double{stored[i]} * (type == DType::kInt8 ? 254 : 15));
      real[i] = static_cast<float>(load(type, bytes.data(), at)) * scales[i / static_cast<std::size_t>(group)];
    }
    Gemm gemm = gemm_of(shape);
    gemm.weight_type = type;
    gemm.group = kGroup;
    gemm.x = x.data();
    gemm.weights = bytes.data();
    gemm.scales = scales.data();
    std::vector<float> y(static_cast<std::size_t>(elements(shape.m, shape.n)));
    gemm.y = y.data();
    for (const auto isa : isas()) {
      const auto backend = backend_with(isa);
      launch(*backend, gemm);
      CHECK(y == by_rows(*backend, shape, x, real));
    }
  }
}

TEST_CASE("a grouped product gives each row the bits of its own expert's product") {
  constexpr std::int32_t kN = 40;
  constexpr std::int32_t kK = 530;
  const std::vector<std::int32_t> offsets = {0, 3, 3, 17, 18};
  std::vector<std::int32_t> gather;
  for (std::int32_t r = 0; r < 18; ++r) gather.push_back(r * 5 % 9);
  const auto x = numbers(9 * kK, 8);
  const auto weights = numbers(4 * kN * kK, 9);
  std::vector<float> y(18 * kN);
  GroupedGemm grouped{DType::kF32,    4,       18, 9, kN, kK, true, offsets.data(), gather.data(), x.data(),
                      weights.data(), y.data()};
  for (const auto isa : isas()) {
    const auto backend = backend_with(isa);
    launch(*backend, grouped);
    for (std::size_t r = 0; r < 18; ++r) {
      const std::size_t expert = r < 3 ? 0 : r < 17 ? 2 : 3;
      const auto from = static_cast<std::ptrdiff_t>(gather[r]) * kK;
      const std::vector<float> row(x.begin() + from, x.begin() + from + kK);
      const auto first = weights.begin() + static_cast<std::ptrdiff_t>(expert) * kN * kK;
      const auto alone = by_rows(*backend, {1, kN, kK}, row, {first, first + kN * kK});
      CHECK(std::equal(alone.begin(), alone.end(), y.begin() + static_cast<std::ptrdiff_t>(r) * kN));
    }
  }
}
