// Where keys and values lie: one head of one sequence, page by page.
#pragma once

#include <cstdint>

#include "kernels/cuda/device.hpp"

namespace servecast::kernels::SERVECAST_DEVICE {

// PagedKv and its BlockTable as kernels take them.
struct KvCache {
  const void* keys;
  const void* values;
  const float* key_scales;  // int8 only, as value_scales
  const float* value_scales;
  const std::int32_t* table;
  std::int64_t table_width;
  int heads;
  int page_shift;  // log2 of the page size
};

// Keys first … last − 1 of a sequence.
struct KeyRange {
  int first;
  int last;
};

// Rows of one head: the keys, or values, of single tokens.
class PagedRows {
 public:
  __device__ PagedRows(const KvCache& cache, int sequence, int head)
      : table_(cache.table + sequence * cache.table_width),
        heads_(cache.heads),
        head_(head),
        page_shift_(cache.page_shift) {}

  // The row, counted through the whole cache, of the token at `position`. 64 bits: rows times their bytes pass 4 GB.
  __device__ __forceinline__ std::int64_t at(int position) const {
    const std::int64_t page = __ldg(table_ + (position >> page_shift_));
    return ((page * heads_ + head_) << page_shift_) + (position & ((1 << page_shift_) - 1));
  }

 private:
  const std::int32_t* table_;
  int heads_;
  int head_;
  int page_shift_;
};

}  // namespace servecast::kernels::SERVECAST_DEVICE
