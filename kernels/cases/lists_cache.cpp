#include "kernels/cases/lists_parts.hpp"

namespace servecast::kernels {
namespace {

void append_appends(CaseSet set, std::vector<CaseShape>& list) {
  const auto types = real_types(set);
  const auto caches = cache_types(set);
  const std::vector<std::pair<std::int32_t, std::int32_t>> heads = {{2, 2}, {8, 2}, {7, 1}};
  const std::array<std::int32_t, 3> dims = {64, 128, 256};
  const std::array<std::int32_t, 3> rotated_quarters = {0, 1, 4};
  const std::array<std::int32_t, 3> page_sizes = {8, 16, 32};
  const std::array<std::int32_t, 3> tokens = {1, 17, 40};
  const auto build = [&](Levels at) -> Built {
    AppendKv op;
    op.type = at.next(types);
    op.kv.type = cache_type(at.next(caches), op.type);
    std::tie(op.heads, op.kv.kv_heads) = at.next(heads);
    op.kv.head_dim = at.next(dims);
    op.rotary = op.kv.head_dim / 4 * at.next(rotated_quarters);
    op.kv.page_size = at.next(page_sizes);
    op.tokens = at.next(tokens);
    op.max_position = op.rotary > 0 ? 300 : 0;
    op.kv.pages = static_cast<std::int32_t>(ceil_div(op.tokens, op.kv.page_size)) + 2;
    op.kv.key_scale = op.kv.value_scale = op.kv.type == DType::kFp8 ? 0.02F : 1;
    return Built({op, {}});
  };
  append_cover({count_of(types), count_of(caches), count_of(heads), count_of(dims), count_of(rotated_quarters),
                count_of(page_sizes), count_of(tokens)},
               build, list);
}

void append_copies(std::vector<CaseShape>& list) {
  for (const auto& [pairs, blocks, bytes] : {std::array{1, 2, 16}, {5, 11, 4096}, {16, 40, 2064}, {3, 8, 65552}}) {
    CopyBlocks op;
    op.pairs = pairs;
    op.blocks = blocks;
    op.block_bytes = bytes;
    list.push_back({{}, op, {}, 0});
  }
}

void append_gathers(std::vector<CaseShape>& list) {
  for (const bool scatter : {false, true}) {
    for (const auto& [count, blocks, bytes] : {std::array{1, 1, 16}, {7, 20, 1040}, {16, 16, 8192}, {3, 9, 65552}}) {
      GatherBlocks op;
      op.count = count;
      op.blocks = blocks;
      op.block_bytes = bytes;
      op.scatter = scatter;
      list.push_back({{}, op, {}, 0});
    }
  }
}

}  // namespace

void append_cache_shapes(CaseSet set, std::vector<CaseShape>& list) {
  append_appends(set, list);
  append_copies(list);
  append_gathers(list);
}

}  // namespace servecast::kernels
