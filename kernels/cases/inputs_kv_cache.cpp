#include <algorithm>
#include <cstring>

#include "kernels/cases/inputs.hpp"

namespace servecast::kernels {

void draw(const AppendKv& op, const Inputs& inputs) {
  Random& random = inputs.random();
  rope_table(op.max_position, op.rotary, 10000, inputs.of<float>("cos_sin").data());
  for (std::int32_t& position : inputs.of<std::int32_t>("positions")) {
    position = static_cast<std::int32_t>(random.below(std::max(1, op.max_position)));
  }
  // Tokens fill shuffled pages one after another; every ninth is written nowhere, as padding is.
  const auto pages = random.permutation(op.kv.pages);
  const std::span<std::int64_t> slots = inputs.of<std::int64_t>("slots");
  const auto page_size = static_cast<std::size_t>(op.kv.page_size);
  for (std::size_t token = 0; token < slots.size(); ++token) {
    const std::int64_t page = pages[token / page_size % pages.size()];
    const bool fits = token / page_size < pages.size();
    slots[token] = token % 9 == 4 || !fits ? -1 : page * op.kv.page_size + static_cast<std::int64_t>(token % page_size);
  }
  // What the cache held before, and must hold where nothing is written.
  for (const std::string_view name : {"keys", "values", "key_scales", "value_scales"}) {
    std::vector<std::byte>& bytes = inputs.operand(name).bytes;
    std::fill(bytes.begin(), bytes.end(), std::byte{0xFF});
  }
}

void draw(const CopyBlocks& op, const Inputs& inputs) {
  // Targets are all different; sources lie among the other blocks and may repeat, as a block shared by several does.
  const auto blocks = inputs.random().permutation(op.blocks);
  const std::span<std::int32_t> from_to = inputs.of<std::int32_t>("from_to");
  for (std::size_t i = 0; i < from_to.size() / 2; ++i) {
    const std::int64_t source = op.pairs + inputs.random().below(op.blocks - op.pairs);
    from_to[2 * i] = blocks[static_cast<std::size_t>(source)];
    from_to[2 * i + 1] = blocks[i];
  }
}

void draw(const GatherBlocks& op, const Inputs& inputs) {
  const auto blocks = inputs.random().permutation(op.blocks);
  const std::span<std::int32_t> list = inputs.of<std::int32_t>("list");
  std::copy_n(blocks.begin(), list.size(), list.begin());
}

}  // namespace servecast::kernels
