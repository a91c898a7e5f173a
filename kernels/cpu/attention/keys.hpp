// Keys and values of one head as the inner loops read them: a pointer for each of 64 positions, whatever the pages and
// the format they lie in.
#pragma once

#include <cstdint>

#include "kernels/operators/attention.hpp"

namespace servecast::kernels::cpu {

constexpr std::int64_t kTileKeys = 64;
constexpr std::int64_t kMaxHeadWidth = 1024;  // what the staging of a tile is made for

// Inner loops work in steps of 16 elements.
constexpr std::int64_t padded(std::int64_t width) { return ceil_div(width, 16) * 16; }

struct KeyTile {
  const float* keys[kTileKeys] = {};
  const float* values[kTileKeys] = {};
};

// An array of vectors of `width` elements.
struct VectorsAt {
  DType type = DType::kF32;
  const void* data = nullptr;
  const float* scales = nullptr;  // one a vector, or null
  float scale = 1;                // of all, where each has none of its own
  std::int64_t width = 0;
};

// One head's keys and values over the positions of a sequence: position p is vector
// page(p / page_size) · page_stride + first + p % page_size · stride of both arrays.
struct HeadKeys {
  VectorsAt keys;
  VectorsAt values;                     // data null: the first elements of the keys (MLA)
  const std::int32_t* pages = nullptr;  // null: pages follow one another
  std::int64_t page_size = 1;
  std::int64_t page_stride = 0;
  std::int64_t first = 0;
  std::int64_t stride = 1;
};

[[nodiscard]] HeadKeys head_of(const PagedKv& kv, const std::int32_t* pages, std::int64_t kv_head);

// Points the tile at positions base … base + 63; those outside [from, to), which are never read from the cache, at the
// vector of `from`. What is no f32 or no multiple of 16 wide is staged: `staging` holds 2 · 64 · padded(width) floats.
void load_tile(const HeadKeys& head, std::int64_t base, std::int64_t from, std::int64_t to, float* staging,
               KeyTile& tile);

}  // namespace servecast::kernels::cpu
