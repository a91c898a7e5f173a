// How attention is cut into units of work: rows that share one KV head's keys, as many as a block of rows holds.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/operators/operator.hpp"

namespace servecast::kernels::cpu {

// Query heads of one KV head.
struct HeadRange {
  std::int64_t kv_head = 0;
  std::int64_t first = 0;
  std::int64_t count = 0;
};

class HeadUnits {
 public:
  HeadUnits(std::int64_t heads, std::int64_t kv_heads, std::int64_t capacity)
      : group_(heads / kv_heads),
        together_(std::min(group_, capacity)),
        pieces_(ceil_div(group_, together_)),
        count_(kv_heads * pieces_),
        capacity_(capacity) {}

  [[nodiscard]] std::int64_t count() const { return count_; }
  // How many tokens of all heads of a range one block of rows holds.
  [[nodiscard]] std::int64_t tokens_together() const { return capacity_ / together_; }
  [[nodiscard]] HeadRange operator[](std::int64_t unit) const {
    const std::int64_t kv_head = unit / pieces_;
    const std::int64_t first = unit % pieces_ * together_;
    return {kv_head, kv_head * group_ + first, std::min(together_, group_ - first)};
  }

 private:
  std::int64_t group_;
  std::int64_t together_;
  std::int64_t pieces_;
  std::int64_t count_;
  std::int64_t capacity_;
};

}  // namespace servecast::kernels::cpu
