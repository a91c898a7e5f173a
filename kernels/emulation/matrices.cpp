// Tensor cores: ldmatrix and mma. Layouts are those of the PTX ISA 8.7, "Matrix Fragments for mma.m16n8k16" and
// "mma.m16n8k8", and "ldmatrix". A product is exact in float and added to the sum in the order of k; the hardware adds
// in another order and rounds differently, so results agree to float's accuracy and not bit by bit.
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>

#include "kernels/emulation/engine.hpp"
#include "kernels/emulation/formats.hpp"
#include "kernels/emulation/instructions.hpp"
#include "kernels/emulation/sanitizers.hpp"

namespace servecast::kernels::emulation {
namespace {

constexpr std::size_t kRows = 16;       // of a and d
constexpr std::size_t kColumns = 8;     // of b and d
constexpr std::size_t kMatrixRows = 8;  // of what ldmatrix loads
constexpr std::size_t kRowBytes = 16;

struct LoadArgument {
  std::uint32_t* registers;
  const void* row;
};

template <std::size_t kMatrices, bool kTransposed>
void distribute(void* const* arguments, std::uint32_t) {
  for (std::size_t matrix = 0; matrix < kMatrices; ++matrix) {
    std::array<std::array<std::uint16_t, 8>, kMatrixRows> rows;
    for (std::size_t row = 0; row < kMatrixRows; ++row) {
      const void* lane = arguments[matrix * kMatrixRows + row];
      std::memcpy(rows[row].data(), static_cast<const LoadArgument*>(lane)->row, kRowBytes);
    }
    for (std::size_t lane = 0; lane < kWarpSize; ++lane) {
      const std::size_t major = lane / 4;
      const std::size_t minor = lane % 4 * 2;
      const std::uint32_t low = kTransposed ? rows[minor][major] : rows[major][minor];
      const std::uint32_t high = kTransposed ? rows[minor + 1][major] : rows[major][minor + 1];
      static_cast<LoadArgument*>(arguments[lane])->registers[matrix] = low | high << 16;
    }
  }
}

struct MultiplyArgument {
  float* d;
  std::array<std::uint32_t, 4> a;
  std::array<std::uint32_t, 2> b;
};

template <MatrixFormat kFormat>
float low_half(std::uint32_t pair) {
  return kFormat == MatrixFormat::kBf16 ? float_of_bf16(pair & 0xffffU) : float_of_f16(pair & 0xffffU);
}

template <MatrixFormat kFormat>
float high_half(std::uint32_t pair) {
  return kFormat == MatrixFormat::kBf16 ? float_of_bf16(pair >> 16) : float_of_f16(pair >> 16);
}

template <std::size_t kDepth>
struct Operands {
  alignas(64) float a[kDepth][kRows];     // column by column
  alignas(64) float b[kDepth][kColumns];  // row by row
  alignas(64) float d[kRows][kColumns];
};

// Lane = 4 · group + quad. Register r of a holds row group (+ 8 if r is odd), columns 2 · quad and the next (+ 8 from
// r = 2 on); register r of b rows 2 · quad and the next (+ 8 for r = 1), column group; d rows group and group + 8,
// columns 2 · quad and the next.
template <MatrixFormat kFormat, std::size_t kDepth>
void gather(void* const* arguments, Operands<kDepth>& operands) {
  for (std::size_t lane = 0; lane < kWarpSize; ++lane) {
    const auto& argument = *static_cast<const MultiplyArgument*>(arguments[lane]);
    const std::size_t group = lane / 4;
    const std::size_t pair = lane % 4 * 2;
    for (std::size_t half = 0; half < kDepth / 8; ++half) {
      const std::size_t k = pair + 8 * half;
      operands.a[k][group] = low_half<kFormat>(argument.a[2 * half]);
      operands.a[k + 1][group] = high_half<kFormat>(argument.a[2 * half]);
      operands.a[k][group + 8] = low_half<kFormat>(argument.a[2 * half + 1]);
      operands.a[k + 1][group + 8] = high_half<kFormat>(argument.a[2 * half + 1]);
      operands.b[k][group] = low_half<kFormat>(argument.b[half]);
      operands.b[k + 1][group] = high_half<kFormat>(argument.b[half]);
    }
    std::memcpy(&operands.d[group][pair], argument.d, 2 * sizeof(float));
    std::memcpy(&operands.d[group + 8][pair], argument.d + 2, 2 * sizeof(float));
  }
}

template <std::size_t kDepth>
void multiply(Operands<kDepth>& operands) {
  for (std::size_t row = 0; row < kRows; ++row) {
    float sums[kColumns];
    std::memcpy(sums, operands.d[row], sizeof(sums));
    for (std::size_t k = 0; k < kDepth; ++k) {
      const float a = operands.a[k][row];
      for (std::size_t column = 0; column < kColumns; ++column) sums[column] += a * operands.b[k][column];
    }
    std::memcpy(operands.d[row], sums, sizeof(sums));
  }
}

template <MatrixFormat kFormat, std::size_t kDepth>
void multiply_warp(void* const* arguments, std::uint32_t) {
  ++engine.counts().matrix_products;
  Operands<kDepth> operands;
  gather<kFormat, kDepth>(arguments, operands);
  multiply<kDepth>(operands);
  for (std::size_t lane = 0; lane < kWarpSize; ++lane) {
    float* const d = static_cast<MultiplyArgument*>(arguments[lane])->d;
    std::memcpy(d, &operands.d[lane / 4][lane % 4 * 2], 2 * sizeof(float));
    std::memcpy(d + 2, &operands.d[lane / 4 + 8][lane % 4 * 2], 2 * sizeof(float));
  }
}

constexpr WarpOperation kLoad2{.name = "ldmatrix.x2", .work = distribute<2, false>, .whole_warp = true};
constexpr WarpOperation kLoad4{.name = "ldmatrix.x4", .work = distribute<4, false>, .whole_warp = true};
constexpr WarpOperation kLoad2Trans{.name = "ldmatrix.x2.trans", .work = distribute<2, true>, .whole_warp = true};
constexpr WarpOperation kLoad4Trans{.name = "ldmatrix.x4.trans", .work = distribute<4, true>, .whole_warp = true};
constexpr WarpOperation kMultiplyBf16{
    .name = "mma.m16n8k16.bf16", .work = multiply_warp<MatrixFormat::kBf16, 16>, .whole_warp = true};
constexpr WarpOperation kMultiplyF16{
    .name = "mma.m16n8k16.f16", .work = multiply_warp<MatrixFormat::kF16, 16>, .whole_warp = true};
constexpr WarpOperation kMultiplyShort{
    .name = "mma.m16n8k8.f16", .work = multiply_warp<MatrixFormat::kF16, 8>, .whole_warp = true};

const WarpOperation& load_operation(int count, bool transposed) {
  if (count == 2) return transposed ? kLoad2Trans : kLoad2;
  return transposed ? kLoad4Trans : kLoad4;
}

}  // namespace

void load_matrices(std::uint32_t* registers, int count, bool transposed, const void* row, Place place) {
  const WarpOperation& operation = load_operation(count, transposed);
  if (running->lane < static_cast<std::size_t>(count) * kMatrixRows) {
    if (std::bit_cast<std::uintptr_t>(row) % kRowBytes != 0)
      engine.fail("ldmatrix: the row is not aligned to 16 bytes", place);
    if (!engine.is_shared(row, kRowBytes) || sanitizers::forbidden(row, kRowBytes)) {
      engine.fail("ldmatrix reads outside of shared memory", place);
    }
    sanitizers::reads(row, kRowBytes, __builtin_return_address(0));
  }
  LoadArgument argument{registers, row};
  engine.meet(operation, ~0U, &argument, place);
}

void multiply_m16n8k16(MatrixFormat format, float* d, const std::uint32_t* a, std::uint32_t b0, std::uint32_t b1,
                       Place place) {
  const WarpOperation& operation = format == MatrixFormat::kBf16 ? kMultiplyBf16 : kMultiplyF16;
  engine.require(80, operation.name, place);
  MultiplyArgument argument{d, {a[0], a[1], a[2], a[3]}, {b0, b1}};
  engine.meet(operation, ~0U, &argument, place);
}

void multiply_m16n8k8(float* d, std::uint32_t a0, std::uint32_t a1, std::uint32_t b0, Place place) {
  MultiplyArgument argument{d, {a0, a1}, {b0}};
  engine.meet(kMultiplyShort, ~0U, &argument, place);
}

}  // namespace servecast::kernels::emulation
