#include "sim/block_pool.hpp"

#include <cassert>

namespace servecast {

BlockPool::BlockPool(Blocks total) : blocks_(static_cast<std::size_t>(total.count())), free_(total) {
  if (blocks_.empty()) return;
  const auto last = static_cast<std::uint32_t>(blocks_.size() - 1);
  for (std::uint32_t i = 0; i < last; ++i) blocks_[i].next = i + 1;
  first_free_ = 0;
  last_free_ = last;
}

BlockId BlockPool::take() {
  assert(first_free_ != kEnd);
  const std::uint32_t block = first_free_;
  first_free_ = blocks_[block].next;
  if (first_free_ == kEnd) last_free_ = kEnd;
  blocks_[block] = {1, kEnd};
  free_ -= Blocks{1};
  return BlockId{block};
}

void BlockPool::drop(BlockId block) {
  const auto dropped = static_cast<std::uint32_t>(block);
  assert(blocks_[dropped].references > 0);
  if (--blocks_[dropped].references > 0) return;
  blocks_[dropped].next = kEnd;
  (last_free_ == kEnd ? first_free_ : blocks_[last_free_].next) = dropped;
  last_free_ = dropped;
  free_ += Blocks{1};
}

void BlockPool::grow(BlockTable& table, Blocks count) {
  for (Blocks taken; taken < count; taken += Blocks{1}) table.push_back(take());
}

void BlockPool::release(BlockTable& table) {
  for (auto block = table.rbegin(); block != table.rend(); ++block) drop(*block);
  table.clear();
}

BlockTable BlockPool::share(const BlockTable& table) {
  for (const BlockId block : table) ++blocks_[index(block)].references;
  return table;
}

std::optional<BlockPool::Copy> BlockPool::write(BlockTable& table, std::size_t position) {
  const BlockId old = table.at(position);
  if (references(old) == 1) return std::nullopt;
  const BlockId fresh = take();
  drop(old);
  table[position] = fresh;
  return Copy{old, fresh};
}

}  // namespace servecast
