#include <algorithm>

#include "kernels/cpu/attention/rows.hpp"
#include "kernels/cpu/attention/units.hpp"
#include "kernels/cpu/operators.hpp"

namespace servecast::kernels::cpu {
namespace {

// Tokens first … last − 1, which are of one sequence, of the heads of one unit.
void attend_tokens(const PrefillAttention& op, std::int64_t sequence, std::int64_t first, std::int64_t last,
                   const HeadRange& heads, RowBlock& rows) {
  rows.clear();
  const auto* queries = static_cast<const float*>(op.queries);
  auto* out = static_cast<float*>(op.out);
  for (std::int64_t token = first; token < last; ++token) {
    const std::int64_t seen = op.contexts[sequence] + token - op.query_starts[sequence] + 1;
    const std::int64_t begin = op.window > 0 ? std::max(std::int64_t{0}, seen - op.window) : 0;
    for (std::int64_t h = 0; h < heads.count; ++h) {
      rows.add({queries + (token * op.heads + heads.first + h) * op.kv.head_dim, begin, seen, 0});
    }
  }
  rows.attend(head_of(op.kv, op.table.pages + sequence * op.table.width, heads.kv_head), op.scale);
  for (std::int64_t r = 0; r < (last - first) * heads.count; ++r) {
    const std::int64_t row = (first + r / heads.count) * op.heads + heads.first + r % heads.count;
    rows.write(r, out + row * op.kv.head_dim);
  }
}

}  // namespace

void run(const PrefillAttention& op, Runtime& runtime) {
  const std::int64_t tokens = op.query_starts[op.sequences.size()];
  const HeadUnits heads(op.heads, op.kv.kv_heads, RowBlock::capacity(op.kv.head_dim, op.kv.head_dim));
  const std::int64_t step = heads.tokens_together();
  runtime.pool().for_each(ceil_div(tokens, step) * heads.count(), [&](std::int64_t unit, std::int32_t thread) {
    RowBlock rows(runtime.micro(), runtime.scratch(thread), op.kv.head_dim, op.kv.head_dim);
    std::int64_t first = unit / heads.count() * step;
    const std::int64_t end = std::min(first + step, tokens);
    const auto* starts_end = op.query_starts + op.sequences.size() + 1;
    std::int64_t sequence = std::upper_bound(op.query_starts, starts_end, first) - op.query_starts - 1;
    for (; first < end; ++sequence) {
      const std::int64_t last = std::min(end, std::int64_t{op.query_starts[sequence + 1]});
      attend_tokens(op, sequence, first, last, heads[unit % heads.count()], rows);
      first = last;
    }
  });
}

}  // namespace servecast::kernels::cpu
