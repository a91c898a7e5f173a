// y = x · wᵀ for some rows, out of tiles of the micro-kernel.
#pragma once

#include <cstdint>

#include "kernels/cpu/gemm/weights.hpp"
#include "kernels/cpu/runtime.hpp"

namespace servecast::kernels::cpu {

struct Product {
  Weights weights;
  const float* x = nullptr;              // [any][k]
  const std::int32_t* gather = nullptr;  // row r reads row gather[r] of x; null: row r
  std::int64_t rows = 0;
  float* y = nullptr;  // [rows][n]
};

// A unit is kMaxTilePanels panels and a block of rows: what one thread computes at a time.
[[nodiscard]] std::int64_t units_of(const Product& product);
void compute_unit(const Product& product, std::int64_t unit, const Micro& micro, float* scratch);

}  // namespace servecast::kernels::cpu
