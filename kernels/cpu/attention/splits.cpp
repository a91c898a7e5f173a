#include "kernels/cpu/attention/splits.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace servecast::kernels::cpu {

void Partials::keep(std::int64_t row, std::int64_t split, const RowState& state) const {
  float* to = at(row, split);
  std::copy(state.mix, state.mix + width, to);
  to[width] = state.softmax.largest;
  to[width + 1] = state.softmax.sum;
}

void Partials::combine(std::int64_t row, float* out) const {
  float largest = -std::numeric_limits<float>::infinity();
  for (std::int64_t s = 0; s < splits; ++s) largest = std::max(largest, at(row, s)[width]);
  float sum = 0;
  std::fill(out, out + width, 0.0F);
  for (std::int64_t s = 0; s < splits; ++s) {
    const float* part = at(row, s);
    const float share = std::exp2(part[width] - largest);
    sum += share * part[width + 1];
    for (std::int64_t d = 0; d < width; ++d) out[d] += share * part[d];
  }
  for (std::int64_t d = 0; d < width; ++d) out[d] /= sum;
}

TileRange tiles_of_split(std::int64_t keys, std::int64_t splits, std::int64_t split) {
  const std::int64_t tiles = ceil_div(keys, kTileKeys);
  return {tiles * split / splits, tiles * (split + 1) / splits};
}

}  // namespace servecast::kernels::cpu
