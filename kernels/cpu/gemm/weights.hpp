// Weights in whatever form the operation has them, as panels for the micro-kernel.
#pragma once

#include <cstdint>

#include "kernels/cpu/micro/micro.hpp"
#include "kernels/operators/gemm.hpp"

namespace servecast::kernels::cpu {

struct Weights {
  DType type = DType::kF32;  // f32, int8 or int4
  WeightLayout layout = WeightLayout::kRows;
  const void* data = nullptr;
  const float* scales = nullptr;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t group = 0;  // int4
};

constexpr std::int64_t kStagedDepth = 256;  // one staged panel, 32 KB, stays in L1

// out[depth][32] = columns 32 · panel … of the weights' elements `from` … from + depth − 1 along k, real values, zeros
// behind row n.
void stage_panel(const Weights& weights, std::int64_t panel, std::int64_t from, std::int64_t depth, float* out);

}  // namespace servecast::kernels::cpu
