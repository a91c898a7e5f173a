// Keys of a row split over several units, and their results combined: only where the back end need not be
// deterministic.
#pragma once

#include <cstdint>

#include "kernels/cpu/attention/rows.hpp"
#include "kernels/cpu/runtime.hpp"

namespace servecast::kernels::cpu {

// Partial results in an operation's workspace: [rows][splits][width + 2], the mix, the largest score and the sum.
struct Partials {
  float* workspace = nullptr;
  std::int64_t splits = 1;
  std::int64_t width = 0;

  void keep(std::int64_t row, std::int64_t split, const RowState& state) const;
  void combine(std::int64_t row, float* out) const;

 private:
  [[nodiscard]] float* at(std::int64_t row, std::int64_t split) const {
    return workspace + (row * splits + split) * (width + 2);
  }
};

// Tiles of one split out of `splits` over `keys` keys.
[[nodiscard]] TileRange tiles_of_split(std::int64_t keys, std::int64_t splits, std::int64_t split);

}  // namespace servecast::kernels::cpu
