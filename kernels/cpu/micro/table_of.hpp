// The table of one vector type.
#pragma once

#include "kernels/cpu/micro/attention.hpp"
#include "kernels/cpu/micro/elementwise.hpp"
#include "kernels/cpu/micro/gemm_tile.hpp"
#include "kernels/cpu/micro/micro.hpp"

namespace servecast::kernels::cpu {

template <class Lanes>
Micro table_of(Isa isa) {
  Micro micro;
  micro.isa = isa;
  micro.tile_rows = Lanes::kTileRows;
  for (int rows = 1; rows <= Lanes::kTileRows; ++rows) micro.tile_panels[rows] = Lanes::tile_panels(rows);
  micro.gemm_tile = gemm_tile<Lanes>;
  micro.scores = score_keys<Lanes>;
  micro.soften = soften<Lanes>;
  micro.mix = mix<Lanes>;
  micro.sum_of_squares = sum_of_squares<Lanes>;
  micro.activate = activate<Lanes>;
  return micro;
}

}  // namespace servecast::kernels::cpu
