#include "kernels/operators/kv_cache.hpp"

#include <cmath>

#include "kernels/operators/check.hpp"

namespace servecast::kernels {
namespace {

double real(std::int64_t value) { return static_cast<double>(value); }

}  // namespace

Status validate(const AppendKv& op) {
  Check check("append_kv");
  check.real("type", op.type).at_least("tokens", op.tokens, 1).at_least("heads", op.heads, 1);
  check.at_least("kv_heads", op.kv.kv_heads, 1).at_least("head_dim", op.kv.head_dim, 1);
  check.at_least("page_size", op.kv.page_size, 1).at_least("pages", op.kv.pages, 1);
  check.that(op.kv.kv_heads > 0 && op.heads % op.kv.kv_heads == 0, "heads is no multiple of kv_heads");
  check.that(op.kv.type == op.type || op.kv.type == DType::kFp8 || op.kv.type == DType::kInt8,
             "the cache is neither of the keys' type nor fp8 nor int8");
  check.that(op.kv.type != DType::kFp8 || (op.kv.key_scale > 0 && op.kv.value_scale > 0),
             "a scale of the fp8 cache is not positive");
  check.within("rotary", op.rotary, 0, op.kv.head_dim).that(op.rotary % 2 == 0, "rotary is odd");
  check.at_least("max_position", op.max_position, op.rotary > 0 ? 1 : 0);
  check.fits("the table of angles", {op.max_position, op.rotary});
  check.fits("queries", {op.tokens, op.heads, op.kv.head_dim});
  check.fits("the cache", {op.kv.pages, op.kv.kv_heads, op.kv.page_size, op.kv.head_dim});
  return check.operands(op);
}

Status validate(const CopyBlocks& op) {
  Check check("copy_blocks");
  check.at_least("pairs", op.pairs, 0).at_least("blocks", op.blocks, 0).at_least("block_bytes", op.block_bytes, 16);
  check.that(op.block_bytes % 16 == 0, "block_bytes is no multiple of 16");
  check.that(op.pairs < op.blocks || op.pairs == 0,
             "there are as many copies as blocks, and each needs a source beside");
  check.fits("the cache", {op.blocks, op.block_bytes});
  return check.operands(op);
}

Status validate(const GatherBlocks& op) {
  Check check("gather_blocks");
  check.at_least("count", op.count, 0).at_least("blocks", op.blocks, 0).at_least("block_bytes", op.block_bytes, 16);
  check.that(op.block_bytes % 16 == 0, "block_bytes is no multiple of 16");
  check.that(op.count <= op.blocks, "the list is longer than the cache, and names each block once");
  check.fits("the cache", {op.blocks, op.block_bytes});
  return check.operands(op);
}

// Queries are read and written, keys and values read, and both written to the cache in its format. The angles, the
// same for all heads, are not counted.
Work work(const AppendKv& op) {
  const double width = real(op.kv.head_dim) * (2 * real(op.heads) + 2 * real(op.kv.kv_heads));
  const double cached = real(bytes_of(op.kv.type, 1)) * 2 * real(op.kv.kv_heads) * real(op.kv.head_dim);
  return {0, real(op.tokens) * (real(bytes_of(op.type, 1)) * width + cached)};
}

Work work(const CopyBlocks& op) { return {0, 2 * real(op.pairs) * real(op.block_bytes)}; }

Work work(const GatherBlocks& op) { return {0, 2 * real(op.count) * real(op.block_bytes)}; }

void rope_table(std::int32_t positions, std::int32_t rotary, double base, float* cos_sin) {
  const std::int32_t half = rotary / 2;
  for (std::int32_t position = 0; position < positions; ++position) {
    float* row = cos_sin + std::int64_t{1} * position * rotary;
    for (std::int32_t i = 0; i < half; ++i) {
      const double angle = real(position) * std::pow(base, -2.0 * real(i) / real(rotary));
      row[i] = static_cast<float>(std::cos(angle));
      row[half + i] = static_cast<float>(std::sin(angle));
    }
  }
}

}  // namespace servecast::kernels
