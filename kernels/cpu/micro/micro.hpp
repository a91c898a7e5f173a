// The inner loops, one table of them for each instruction set. Written once, as templates over a vector type
// (gemm_tile.hpp, attention.hpp, elementwise.hpp here), and compiled once for each set by a function attribute, not by
// a flag of the file: so no inline function of another header is ever compiled for a machine that it may not run on.
//
// What a table promises: each result depends on its own row and its own column only, never on how many of them one
// call computes.
#pragma once

#include <cstdint>

#include "kernels/cpu/isa.hpp"

namespace servecast::kernels::cpu {

constexpr std::int64_t kPanelColumns = 32;  // of WeightLayout::kPanels
constexpr std::int64_t kMaxTilePanels = 4;
constexpr std::int64_t kMaxTileRows = 12;

// y[rows][columns] (+)= x[rows][depth] · panels[⌈columns/32⌉][depth][32]. Each element is one chain of multiply-adds
// over `depth`, in order: a product cut along k and accumulated has the bits of the whole one.
struct GemmTile {
  const float* x = nullptr;
  std::int64_t x_stride = 0;
  const float* panels = nullptr;
  std::int64_t panel_stride = 0;  // elements from one panel to the next
  std::int64_t upcoming = 0;      // elements from these panels to those that will be read next: prefetched
  std::int64_t depth = 0;
  std::int64_t rows = 0;     // 1 … tile_rows
  std::int64_t columns = 0;  // at most 32 · tile_panels[rows]
  bool accumulate = false;
  float* y = nullptr;
  std::int64_t y_stride = 0;
};

// Running softmax of one row, in the domain of powers of two.
struct Softmax {
  float largest = 0;
  float sum = 0;
};

// What an activation of the gated kinds multiplies with; null: nothing.
enum class Curve : std::uint8_t { kSilu, kGelu };

struct Micro {
  Isa isa = Isa::kPortable;
  std::int64_t tile_rows = 0;
  std::int64_t tile_panels[kMaxTileRows + 1] = {};  // by rows: panels that keep enough sums in flight

  void (*gemm_tile)(const GemmTile& tile) = nullptr;
  // scores[j] = scale · query · keys[j]. `count` and `width` are multiples of 16.
  void (*scores)(const float* query, const float* const* keys, std::int64_t count, std::int64_t width, float scale,
                 float* scores) = nullptr;
  // scores become 2^(score − largest so far), and the state is carried on; returns what earlier results shrink by.
  // A score of −∞ becomes 0. Requires one finite score, now or before.
  float (*soften)(float* scores, std::int64_t count, Softmax& state) = nullptr;
  // out = keep · out + Σ_j weights[j] · values[j], j in order. `width` is a multiple of 16.
  void (*mix)(const float* weights, const float* const* values, std::int64_t count, std::int64_t width, float keep,
              float* out) = nullptr;
  float (*sum_of_squares)(const float* x, std::int64_t count) = nullptr;
  // out = curve(x) · gate, or curve(x) where gate is null.
  void (*activate)(Curve curve, const float* x, const float* gate, std::int64_t count, float* out) = nullptr;
};

// Requires supported(isa).
[[nodiscard]] const Micro& micro_for(Isa isa);

}  // namespace servecast::kernels::cpu
