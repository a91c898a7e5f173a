#include "kernels/cpu/gemm/product.hpp"

#include <algorithm>

namespace servecast::kernels::cpu {
namespace {

constexpr std::int64_t kRowBlock = 256;      // rows that share a panel while it is in L2
constexpr std::int64_t kPackedDepth = 2048;  // one packed panel, 256 KB, stays in L2

struct Range {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

// Piece `index` of `total` cut into `pieces` as even as can be: no tile is left with one row, which would cost as much
// as four.
Range piece(std::int64_t total, std::int64_t pieces, std::int64_t index) {
  const std::int64_t first = total * index / pieces;
  return {first, total * (index + 1) / pieces - first};
}

std::int64_t row_blocks(const Product& product) { return ceil_div(product.rows, kRowBlock); }

// Panels first … of a unit, cut along k to one stretch.
struct Stretch {
  const float* panels = nullptr;
  std::int64_t panel_stride = 0;
  std::int64_t upcoming = 0;
  std::int64_t column = 0;
  std::int64_t columns = 0;
  Range k;
};

const float* gathered(const Product& product, Range rows, Range k, float* scratch) {
  for (std::int64_t r = 0; r < rows.count; ++r) {
    const float* from = product.x + product.gather[rows.first + r] * product.weights.k + k.first;
    std::copy(from, from + k.count, scratch + r * k.count);
  }
  return scratch;
}

// All rows of the block times one stretch.
void multiply(const Product& product, Range block, const Stretch& stretch, const Micro& micro, float* scratch) {
  const std::int64_t tiles = ceil_div(block.count, micro.tile_rows);
  for (std::int64_t t = 0; t < tiles; ++t) {
    Range rows = piece(block.count, tiles, t);
    rows.first += block.first;
    GemmTile tile;
    tile.panels = stretch.panels;
    tile.panel_stride = stretch.panel_stride;
    tile.upcoming = t == 0 ? stretch.upcoming : 0;
    tile.depth = stretch.k.count;
    tile.rows = rows.count;
    tile.columns = stretch.columns;
    tile.accumulate = stretch.k.first > 0;
    tile.x_stride = product.gather == nullptr ? product.weights.k : stretch.k.count;
    tile.x = product.gather == nullptr ? product.x + rows.first * product.weights.k + stretch.k.first
                                       : gathered(product, rows, stretch.k, scratch);
    tile.y = product.y + rows.first * product.weights.n + stretch.column;
    tile.y_stride = product.weights.n;
    micro.gemm_tile(tile);
  }
}

// Packed weights are used where they lie. One stretch is as many panels as keep enough sums in flight for the rows.
void multiply_packed(const Product& product, Range block, Range panels, const Micro& micro, float* scratch) {
  const Weights& weights = product.weights;
  const std::int64_t panel_floats = weights.k * kPanelColumns;
  const std::int64_t all_panels = ceil_div(weights.n, kPanelColumns);
  const bool one_tile = block.count <= micro.tile_rows;
  const std::int64_t together = one_tile ? micro.tile_panels[block.count] : 1;
  std::int64_t step = 0;
  for (std::int64_t p = panels.first; p < panels.first + panels.count; p += step) {
    // A last group that is not full goes panel by panel.
    step = p + together <= panels.first + panels.count ? together : 1;
    for (std::int64_t k = 0; k < weights.k; k += kPackedDepth) {
      Stretch stretch;
      stretch.k = {k, std::min(kPackedDepth, weights.k - k)};
      stretch.panels = static_cast<const float*>(weights.data) + p * panel_floats + k * kPanelColumns;
      stretch.panel_stride = panel_floats;
      stretch.upcoming = p + 2 * step <= all_panels ? step * panel_floats : 0;
      stretch.column = p * kPanelColumns;
      stretch.columns = std::min(step * kPanelColumns, weights.n - stretch.column);
      multiply(product, block, stretch, micro, scratch);
    }
  }
}

// Other weights are packed, and dequantised, one panel's stretch at a time. Sums stored and loaded between stretches
// lose nothing, so the bits are those of packed weights.
void multiply_staged(const Product& product, Range block, Range panels, const Micro& micro, float* scratch) {
  const Weights& weights = product.weights;
  float* panel = scratch;
  for (std::int64_t p = panels.first; p < panels.first + panels.count; ++p) {
    for (std::int64_t k = 0; k < weights.k; k += kStagedDepth) {
      Stretch stretch;
      stretch.k = {k, std::min(kStagedDepth, weights.k - k)};
      stage_panel(weights, p, k, stretch.k.count, panel);
      stretch.panels = panel;
      stretch.column = p * kPanelColumns;
      stretch.columns = std::min(kPanelColumns, weights.n - stretch.column);
      multiply(product, block, stretch, micro, scratch + kStagedDepth * kPanelColumns);
    }
  }
}

static_assert(kStagedDepth * (kPanelColumns + kMaxTileRows) <= Scratch::kFloats);
static_assert(kPackedDepth * kMaxTileRows <= Scratch::kFloats);

}  // namespace

std::int64_t units_of(const Product& product) {
  return row_blocks(product) * ceil_div(product.weights.n, kPanelColumns * kMaxTilePanels);
}

void compute_unit(const Product& product, std::int64_t unit, const Micro& micro, float* scratch) {
  const std::int64_t all_panels = ceil_div(product.weights.n, kPanelColumns);
  const std::int64_t groups = ceil_div(all_panels, kMaxTilePanels);
  const Range block = piece(product.rows, row_blocks(product), unit / groups);
  Range panels{unit % groups * kMaxTilePanels, kMaxTilePanels};
  panels.count = std::min(panels.count, all_panels - panels.first);
  if (product.weights.layout == WeightLayout::kPanels) {
    multiply_packed(product, block, panels, micro, scratch);
  } else {
    multiply_staged(product, block, panels, micro, scratch);
  }
}

}  // namespace servecast::kernels::cpu
