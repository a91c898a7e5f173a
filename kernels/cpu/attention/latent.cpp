#include <algorithm>

#include "kernels/cpu/attention/splits.hpp"
#include "kernels/cpu/operators.hpp"

namespace servecast::kernels::cpu {
namespace {

// All heads read one cached vector a position, whose first elements are the values.
HeadKeys head_of(const LatentDecodeAttention& op, std::int64_t sequence) {
  HeadKeys head;
  head.keys.data = op.cache;
  head.keys.width = std::int64_t{op.latent} + op.rope;
  head.pages = op.table.pages + sequence * op.table.width;
  head.page_size = op.page_size;
  head.page_stride = op.page_size;
  return head;
}

// Rows first … first + count − 1 of a sequence's tokens · heads, over the tiles of one split.
void attend_rows(const LatentDecodeAttention& op, std::int64_t sequence, std::int64_t first, std::int64_t count,
                 std::int64_t split, const Partials& partials, RowBlock& rows) {
  const std::int64_t width = std::int64_t{op.latent} + op.rope;
  const std::int64_t context = op.contexts[sequence];
  const std::int64_t base = sequence * op.tokens * op.heads + first;
  for (std::int64_t r = 0; r < count; ++r) {
    const std::int64_t token = (first + r) / op.heads;
    rows.add({static_cast<const float*>(op.queries) + (base + r) * width, 0, context + token + 1, 0});
  }
  const HeadKeys head = head_of(op, sequence);
  if (partials.splits == 1) {
    rows.attend(head, op.scale);
    for (std::int64_t r = 0; r < count; ++r) rows.write(r, static_cast<float*>(op.out) + (base + r) * op.latent);
    return;
  }
  rows.attend(head, op.scale, tiles_of_split(context + op.tokens, partials.splits, split));
  for (std::int64_t r = 0; r < count; ++r) partials.keep(base + r, split, rows.state(r));
}

}  // namespace

void run(const LatentDecodeAttention& op, Runtime& runtime) {
  const Partials partials{op.workspace, runtime.splits_keys() ? op.splits : 1, op.latent};
  const std::int64_t width = std::int64_t{op.latent} + op.rope;
  const std::int64_t rows_each = std::int64_t{op.tokens} * op.heads;
  const std::int64_t step = RowBlock::capacity(width, op.latent);
  const std::int64_t steps = ceil_div(rows_each, step);
  const auto sequences = static_cast<std::int64_t>(op.sequences.size());
  runtime.pool().for_each(sequences * steps * partials.splits, [&](std::int64_t unit, std::int32_t thread) {
    RowBlock rows(runtime.micro(), runtime.scratch(thread), width, op.latent);
    const std::int64_t first = unit / partials.splits % steps * step;
    attend_rows(op, unit / (partials.splits * steps), first, std::min(step, rows_each - first), unit % partials.splits,
                partials, rows);
  });
  if (partials.splits == 1) return;
  runtime.pool().for_each(sequences * rows_each, [&](std::int64_t row, std::int32_t) {
    partials.combine(row, static_cast<float*>(op.out) + row * op.latent);
  });
}

}  // namespace servecast::kernels::cpu
