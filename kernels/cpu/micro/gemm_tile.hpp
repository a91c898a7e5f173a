// The packed-weight product: a tile of rows times one panel of 32 columns, or a few, sums in registers, weights
// streamed once. What is read from memory next is asked for in time: at few rows the product is bound by that.
#pragma once

#include "kernels/cpu/micro/micro.hpp"
#include "kernels/cpu/micro/target.hpp"

namespace servecast::kernels::cpu {

constexpr std::int64_t kNearRows = 16;  // rows of a panel, 128 bytes each, between use and prefetch to L1

// To L1 what is near; to L2 the panel after a lone one. Panels that are read together are as many streams already, and
// more of them cost more than they bring.
template <class Lanes, int kPanels>
SERVECAST_LANE void prefetch_row(const float* row, const GemmTile& tile) {
  SERVECAST_UNROLL
  for (int p = 0; p < kPanels; ++p) {
    const float* at = row + p * tile.panel_stride;
    SERVECAST_UNROLL
    for (int line = 0; line < Lanes::kTileVectors * Lanes::kLanes; line += 16) {
      __builtin_prefetch(at + kNearRows * kPanelColumns + line, 0, 3);
      if constexpr (kPanels == 1) __builtin_prefetch(at + tile.upcoming + line, 0, 2);
    }
  }
}

// Columns `first` … first + kTileVectors vectors of each of kPanels panels.
template <class Lanes, int kRows, int kPanels>
SERVECAST_ISA void multiply_columns(const GemmTile& tile, std::int64_t first, float* y, std::int64_t y_stride) {
  constexpr int kVectors = Lanes::kTileVectors;
  constexpr int kAcross = kPanels * kVectors;
  Vectors<Lanes, kRows * kAcross> sums;
  SERVECAST_UNROLL
  for (int m = 0; m < kRows; ++m) {
    SERVECAST_UNROLL
    for (int v = 0; v < kAcross; ++v) {
      const float* at = y + m * y_stride + first + v / kVectors * kPanelColumns + v % kVectors * Lanes::kLanes;
      sums[m * kAcross + v] = tile.accumulate ? Lanes::load(at) : Lanes::broadcast(0);
    }
  }
  SERVECAST_UNROLL_TWICE
  for (std::int64_t k = 0; k < tile.depth; ++k) {
    const float* row = tile.panels + k * kPanelColumns + first;
    prefetch_row<Lanes, kPanels>(row, tile);
    Vectors<Lanes, kAcross> weights;
    SERVECAST_UNROLL
    for (int v = 0; v < kAcross; ++v) {
      weights[v] = Lanes::load(row + v / kVectors * tile.panel_stride + v % kVectors * Lanes::kLanes);
    }
    SERVECAST_UNROLL
    for (int m = 0; m < kRows; ++m) {
      const typename Lanes::Vector x = Lanes::broadcast(tile.x[m * tile.x_stride + k]);
      SERVECAST_UNROLL
      for (int v = 0; v < kAcross; ++v)
        sums[m * kAcross + v] = Lanes::multiply_add(x, weights[v], sums[m * kAcross + v]);
    }
  }
  SERVECAST_UNROLL
  for (int m = 0; m < kRows; ++m) {
    SERVECAST_UNROLL
    for (int v = 0; v < kAcross; ++v) {
      Lanes::store(y + m * y_stride + first + v / kVectors * kPanelColumns + v % kVectors * Lanes::kLanes,
                   sums[m * kAcross + v]);
    }
  }
}

template <class Lanes, int kRows, int kPanels>
SERVECAST_ISA void multiply_panels(const GemmTile& tile, float* y, std::int64_t y_stride) {
  for (std::int64_t first = 0; first < kPanelColumns; first += Lanes::kTileVectors * Lanes::kLanes) {
    multiply_columns<Lanes, kRows, kPanels>(tile, first, y, y_stride);
  }
}

// A last panel that is not full goes through a tile of its own, so that nothing is written beside y.
template <class Lanes, int kRows, int kPanels>
SERVECAST_ISA void multiply(const GemmTile& tile) {
  constexpr int kColumns = kPanels * static_cast<int>(kPanelColumns);
  if (tile.columns == kColumns) return multiply_panels<Lanes, kRows, kPanels>(tile, tile.y, tile.y_stride);
  Block<float, kRows* kColumns> whole = {};
  for (int m = 0; m < kRows && tile.accumulate; ++m) {
    for (std::int64_t c = 0; c < tile.columns; ++c) whole[m * kColumns + c] = tile.y[m * tile.y_stride + c];
  }
  multiply_panels<Lanes, kRows, kPanels>(tile, whole, kColumns);
  for (int m = 0; m < kRows; ++m) {
    for (std::int64_t c = 0; c < tile.columns; ++c) tile.y[m * tile.y_stride + c] = whole[m * kColumns + c];
  }
}

// The tile of tile.rows rows, by recursion over the rows that this set has.
template <class Lanes, int kRows>
SERVECAST_ISA void multiply_rows(const GemmTile& tile) {
  if (tile.rows == kRows) {
    constexpr int kWide = Lanes::tile_panels(kRows);
    if (tile.columns > kPanelColumns) return multiply<Lanes, kRows, kWide>(tile);
    return multiply<Lanes, kRows, 1>(tile);
  }
  if constexpr (kRows > 1) multiply_rows<Lanes, kRows - 1>(tile);
}

template <class Lanes>
SERVECAST_ISA void gemm_tile(const GemmTile& tile) {
  multiply_rows<Lanes, Lanes::kTileRows>(tile);
}

}  // namespace servecast::kernels::cpu
