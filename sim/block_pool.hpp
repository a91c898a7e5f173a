// KV blocks by name: who owns which, how often each is shared, and in which order the free ones are reused.
// The engine counts blocks; it names them where names matter: for the live engine, whose kernels read block
// tables, and to check that counting and naming agree.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/units.hpp"

namespace servecast {

enum class BlockId : std::uint32_t {};

// The blocks of one sequence, in order of position.
using BlockTable = std::vector<BlockId>;

class BlockPool {
 public:
  explicit BlockPool(Blocks total);

  [[nodiscard]] Blocks free() const { return free_; }
  [[nodiscard]] std::int64_t references(BlockId block) const { return blocks_[index(block)].references; }

  // Appends so many blocks to `table`, the least recently freed first. Requires as many free.
  void grow(BlockTable& table, Blocks count);
  // Gives the table's references back, last block first, so that the tail is reused first, and empties it.
  void release(BlockTable& table);
  // A second table over the same blocks (a fork): every block gains a reference.
  [[nodiscard]] BlockTable share(const BlockTable& table);

  struct Copy {
    BlockId from, to;
  };
  // The table's owner writes into the block at `position`: a block that others refer to is copied first.
  // Gives the copy to make, or nothing when the block is its own. Requires a free block where it copies.
  std::optional<Copy> write(BlockTable& table, std::size_t position);

 private:
  static constexpr std::uint32_t kEnd = 0xffffffffU;

  struct Block {
    std::int64_t references = 0;
    std::uint32_t next = kEnd;  // in the free list
  };

  static std::size_t index(BlockId block) { return static_cast<std::uint32_t>(block); }
  BlockId take();
  void drop(BlockId block);

  std::vector<Block> blocks_;
  std::uint32_t first_free_ = kEnd, last_free_ = kEnd;
  Blocks free_;
};

}  // namespace servecast
