#include <algorithm>
#include <bit>

#include "kernels/cpu/attention/splits.hpp"
#include "kernels/cpu/attention/units.hpp"
#include "kernels/cpu/operators.hpp"

namespace servecast::kernels::cpu {
namespace {

// What new token `token` of a sequence sees; the window counts back from its place in the tree.
Row row_of(const DecodeAttention& op, std::int64_t context, std::int64_t token, const float* query) {
  const std::uint64_t ancestors = op.tree ? op.ancestors[token] : ~std::uint64_t{0} >> (63 - token);
  const std::int64_t seen = context + std::popcount(ancestors);
  const std::int64_t begin = op.window > 0 ? std::max(std::int64_t{0}, seen - op.window) : 0;
  return {query, begin, context, ancestors};
}

struct DecodeUnit {
  std::int64_t sequence = 0;
  std::int64_t first_token = 0;
  std::int64_t tokens = 0;
  std::int64_t split = 0;
  HeadRange heads;
};

class DecodeUnits {
 public:
  DecodeUnits(const DecodeAttention& op, std::int64_t splits)
      : op_(op),
        splits_(splits),
        heads_(op.heads, op.kv.kv_heads, RowBlock::capacity(op.kv.head_dim, op.kv.head_dim)),
        step_(std::min(heads_.tokens_together(), std::int64_t{op.tokens})),
        steps_(ceil_div(op.tokens, step_)) {}

  [[nodiscard]] std::int64_t count() const {
    return static_cast<std::int64_t>(op_.sequences.size()) * heads_.count() * steps_ * splits_;
  }
  [[nodiscard]] DecodeUnit operator[](std::int64_t unit) const {
    DecodeUnit at;
    at.split = unit % splits_;
    at.first_token = unit / splits_ % steps_ * step_;
    at.tokens = std::min(step_, op_.tokens - at.first_token);
    at.heads = heads_[unit / (splits_ * steps_) % heads_.count()];
    at.sequence = unit / (splits_ * steps_ * heads_.count());
    return at;
  }

 private:
  const DecodeAttention& op_;
  std::int64_t splits_;
  HeadUnits heads_;
  std::int64_t step_;
  std::int64_t steps_;
};

void attend_unit(const DecodeAttention& op, const DecodeUnit& unit, const Partials& partials, RowBlock& rows) {
  const std::int64_t context = op.contexts[unit.sequence];
  const auto row_at = [&](std::int64_t r) {
    const std::int64_t token = unit.sequence * op.tokens + unit.first_token + r / unit.heads.count;
    return token * op.heads + unit.heads.first + r % unit.heads.count;
  };
  const std::int64_t count = unit.tokens * unit.heads.count;
  for (std::int64_t r = 0; r < count; ++r) {
    const float* query = static_cast<const float*>(op.queries) + row_at(r) * op.kv.head_dim;
    rows.add(row_of(op, context, unit.first_token + r / unit.heads.count, query));
  }
  const HeadKeys head = head_of(op.kv, op.table.pages + unit.sequence * op.table.width, unit.heads.kv_head);
  if (partials.splits == 1) {
    rows.attend(head, op.scale);
    for (std::int64_t r = 0; r < count; ++r) rows.write(r, static_cast<float*>(op.out) + row_at(r) * op.kv.head_dim);
    return;
  }
  const TileRange tiles = tiles_of_split(context + op.tokens, partials.splits, unit.split);
  rows.attend(head, op.scale, tiles);
  for (std::int64_t r = 0; r < count; ++r) partials.keep(row_at(r), unit.split, rows.state(r));
}

}  // namespace

void run(const DecodeAttention& op, Runtime& runtime) {
  const Partials partials{op.workspace, runtime.splits_keys() ? op.splits : 1, op.kv.head_dim};
  const DecodeUnits units(op, partials.splits);
  runtime.pool().for_each(units.count(), [&](std::int64_t unit, std::int32_t thread) {
    RowBlock rows(runtime.micro(), runtime.scratch(thread), op.kv.head_dim, op.kv.head_dim);
    attend_unit(op, units[unit], partials, rows);
  });
  if (partials.splits == 1) return;
  const std::int64_t rows = static_cast<std::int64_t>(op.sequences.size()) * op.tokens * op.heads;
  runtime.pool().for_each(rows, [&](std::int64_t row, std::int32_t) {
    partials.combine(row, static_cast<float*>(op.out) + row * op.kv.head_dim);
  });
}

}  // namespace servecast::kernels::cpu
