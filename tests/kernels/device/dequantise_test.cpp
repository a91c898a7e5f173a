// The weights that cuBLASLt gets: quantised ones written out in the type of the product.
#include "kernels/cuda/gemm/dequantise.cuh"

#include <doctest/doctest.h>
#include <vector>

#include "kernels/dtype.hpp"

using namespace servecast::kernels;

namespace {

// int8 rows have a scale each, int4 rows one a group.
template <class T, class W>
std::vector<float> written(const std::vector<std::uint8_t>& weights, const std::vector<float>& scales, int rows, int k,
                           int group) {
  const bool aligned = emulated::aligned_rows<W>(weights.data(), k, emulated::kChunk);
  const emulated::QuantisedWeights<W> from{reinterpret_cast<const W*>(weights.data()), scales.data(), k, group,
                                           aligned};
  std::vector<T> out(static_cast<std::size_t>(rows * k));
  const emulated::Grid grid{emulated::dim3(static_cast<unsigned>(rows), 2), emulated::dim3(256)};
  const Status status = emulated::launch(emulated::dequantise_kernel<T, W>, grid, from, out.data());
  REQUIRE_MESSAGE(status.ok(), status.message());
  std::vector<float> values;
  for (const T value : out) values.push_back(emulated::to_float(value));
  return values;
}

std::vector<std::uint8_t> bytes(std::size_t count) {
  std::vector<std::uint8_t> made;
  for (std::size_t i = 0; i < count; ++i) made.push_back(static_cast<std::uint8_t>(i * 37 + 11));
  return made;
}

}  // namespace

TEST_CASE("int8 weights are written out with the scale of their row, also where rows lie askew") {
  for (const int k : {77, 4168}) {
    const auto weights = bytes(static_cast<std::size_t>(3 * k));
    const std::vector<float> scales = {0.5F, 0.013F, 2.0F};
    const auto values = written<emulated::Bf16, std::int8_t>(weights, scales, 3, k, 0);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double exact = load(DType::kInt8, weights.data(), static_cast<std::int64_t>(i));
      const float scaled = static_cast<float>(exact) * scales[i / static_cast<std::size_t>(k)];
      REQUIRE(values[i] == from_bf16(to_bf16(scaled)));
    }
  }
}

TEST_CASE("int4 weights are written out with the scale of their group") {
  constexpr int kK = 96;
  constexpr int kGroup = 32;
  const auto weights = bytes(2 * kK / 2);
  const std::vector<float> scales = {0.5F, 0.1F, 2.0F, 3.0F, 0.7F, 0.01F};
  const auto values = written<emulated::F16, emulated::Int4Pair>(weights, scales, 2, kK, kGroup);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double exact = load(DType::kInt4, weights.data(), static_cast<std::int64_t>(i));
    REQUIRE(values[i] == from_f16(to_f16(static_cast<float>(exact) * scales[i / kGroup])));
  }
}
