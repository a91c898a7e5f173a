#include "kernels/cpu/attention/rows.hpp"

#include <algorithm>
#include <bit>
#include <limits>

namespace servecast::kernels::cpu {
namespace {

constexpr float kNone = -std::numeric_limits<float>::infinity();
// What turns e^x into 2^x.
constexpr double kLog2E = 1.4426950408889634;

// Bits from … to − 1 of 64, cut to what there is.
std::uint64_t bits_between(std::int64_t from, std::int64_t to) {
  from = std::clamp(from, std::int64_t{0}, kTileKeys);
  to = std::clamp(to, from, kTileKeys);
  const std::uint64_t below_to = to == kTileKeys ? ~std::uint64_t{0} : (std::uint64_t{1} << to) - 1;
  return from == kTileKeys ? 0 : below_to & (~std::uint64_t{0} << from);
}

std::uint64_t shifted(std::uint64_t bits, std::int64_t by) {
  if (by <= -kTileKeys || by >= kTileKeys) return 0;
  return by >= 0 ? bits << by : bits >> -by;
}

constexpr std::int64_t per_row(std::int64_t query_width, std::int64_t value_width) {
  return padded(query_width) + padded(value_width);
}

constexpr std::int64_t kStagingFloats = 2 * kTileKeys * kMaxHeadWidth;
static_assert(kStagingFloats + 64 * per_row(kMaxHeadWidth, kMaxHeadWidth) <= Scratch::kFloats);

}  // namespace

std::int64_t Row::end() const { return context + 64 - std::countl_zero(ancestors); }

std::uint64_t Row::seen(std::int64_t base) const {
  return bits_between(begin - base, context - base) | shifted(ancestors, context - base);
}

RowBlock::RowBlock(const Micro& micro, float* scratch, std::int64_t query_width, std::int64_t value_width)
    : micro_(micro),
      query_width_(query_width),
      value_width_(value_width),
      staging_(scratch),
      queries_(scratch + kStagingFloats),
      mixes_(queries_ + capacity(query_width, value_width) * padded(query_width)) {}

std::int64_t RowBlock::capacity(std::int64_t query_width, std::int64_t value_width) {
  return std::min(kMaxRows, (Scratch::kFloats - kStagingFloats) / per_row(query_width, value_width));
}

void RowBlock::add(const Row& row) {
  const std::int64_t width = padded(value_width_);
  rows_[count_] = row;
  if (query_width_ % 16 != 0) {
    float* query = queries_ + count_ * padded(query_width_);
    std::copy(row.query, row.query + query_width_, query);
    std::fill(query + query_width_, query + padded(query_width_), 0.0F);
    rows_[count_].query = query;
  }
  states_[count_] = {{kNone, 0}, mixes_ + count_ * width};
  std::fill(states_[count_].mix, states_[count_].mix + width, 0.0F);
  ++count_;
}

void RowBlock::attend(const HeadKeys& head, float scale) {
  attend(head, scale, {0, std::numeric_limits<std::int64_t>::max()});
}

void RowBlock::attend(const HeadKeys& head, float scale, TileRange tiles) {
  std::int64_t from = std::numeric_limits<std::int64_t>::max();
  std::int64_t to = 0;
  for (std::int64_t r = 0; r < count_; ++r) {
    from = std::min(from, rows_[r].first());
    to = std::max(to, rows_[r].end());
  }
  const auto scale2 = static_cast<float>(scale * kLog2E);
  const std::int64_t first = std::max(tiles.first, from / kTileKeys);
  const std::int64_t last = std::min(tiles.last, ceil_div(to, kTileKeys));
  KeyTile tile;
  for (std::int64_t t = first; t < last; ++t) {
    const std::int64_t base = t * kTileKeys;
    load_tile(head, base, from, to, staging_, tile);
    for (std::int64_t r = 0; r < count_; ++r) {
      const std::uint64_t seen = rows_[r].seen(base);
      if (seen != 0) update(r, seen, tile, scale2);
    }
  }
}

void RowBlock::update(std::int64_t row, std::uint64_t seen, const KeyTile& tile, float scale) {
  alignas(64) float scores[kTileKeys];
  const std::int64_t first = std::countr_zero(seen);
  const std::int64_t last = 64 - std::countl_zero(seen);
  const std::int64_t count = padded(last);
  RowState& state = states_[row];
  micro_.scores(rows_[row].query, tile.keys, count, padded(query_width_), scale, scores);
  if (seen != ~std::uint64_t{0}) {
    for (std::int64_t j = 0; j < count; ++j) scores[j] = (seen >> j & 1U) != 0 ? scores[j] : kNone;
  }
  const float keep = micro_.soften(scores, count, state.softmax);
  micro_.mix(scores + first, tile.values + first, last - first, padded(value_width_), keep, state.mix);
}

void RowBlock::write(std::int64_t row, float* out) const {
  const RowState& state = states_[row];
  for (std::int64_t d = 0; d < value_width_; ++d) out[d] = state.mix[d] / state.softmax.sum;
}

}  // namespace servecast::kernels::cpu
