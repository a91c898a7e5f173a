// Attention of a few query rows over the keys of one head. Each row reduces its keys in tiles of 64 from position 0,
// by the same code in prefill, decode and verification; so its bits depend on its own query, on what it sees and on
// nothing beside it: not on the batch, on where a chunk began, or on the pages.
#pragma once

#include <cstdint>

#include "kernels/cpu/attention/keys.hpp"
#include "kernels/cpu/runtime.hpp"

namespace servecast::kernels::cpu {

constexpr std::int64_t kMaxRows = 64;

// A query that sees positions begin … context − 1, and context + j for each bit j of `ancestors`.
struct Row {
  const float* query = nullptr;
  std::int64_t begin = 0;
  std::int64_t context = 0;
  std::uint64_t ancestors = 0;

  [[nodiscard]] std::int64_t end() const;  // behind the last position seen
  [[nodiscard]] std::int64_t first() const { return begin < context ? begin : context; }
  [[nodiscard]] std::uint64_t seen(std::int64_t base) const;  // bit j: whether it sees base + j
};

// What a row has gathered: out = mix / softmax.sum.
struct RowState {
  Softmax softmax;
  float* mix = nullptr;  // [padded(width)]
};

// Tiles `first` … last − 1 of 64 keys.
struct TileRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
};

// Up to kMaxRows rows at once, in a thread's scratch.
class RowBlock {
 public:
  // `query_width` and `value_width` as they are in the operation.
  RowBlock(const Micro& micro, float* scratch, std::int64_t query_width, std::int64_t value_width);

  // How many rows fit: at most kMaxRows.
  [[nodiscard]] static std::int64_t capacity(std::int64_t query_width, std::int64_t value_width);

  void clear() { count_ = 0; }
  void add(const Row& row);
  // Over some tiles only, or over all that a row sees.
  void attend(const HeadKeys& head, float scale, TileRange tiles);
  void attend(const HeadKeys& head, float scale);

  [[nodiscard]] const RowState& state(std::int64_t row) const { return states_[row]; }
  void write(std::int64_t row, float* out) const;

 private:
  void update(std::int64_t row, std::uint64_t seen, const KeyTile& tile, float scale);

  const Micro& micro_;
  std::int64_t query_width_;
  std::int64_t value_width_;
  std::int64_t count_ = 0;
  float* staging_;
  float* queries_;
  float* mixes_;
  Row rows_[kMaxRows];
  RowState states_[kMaxRows];
};

}  // namespace servecast::kernels::cpu
