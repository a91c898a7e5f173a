// The block tables of a replica's sequences, kept beside the counts where blocks are named.
#pragma once

#include <vector>

#include "sim/block_pool.hpp"
#include "sim/sequence.hpp"

namespace servecast {

class BlockTables {
 public:
  explicit BlockTables(Blocks total) : pool_(total) {}

  void grow(SeqId id, Blocks count) { pool_.grow(table(id), count); }
  void release(SeqId id) { pool_.release(table(id)); }
  [[nodiscard]] const BlockTable& of(SeqId id) { return table(id); }
  [[nodiscard]] Blocks free() const { return pool_.free(); }

 private:
  BlockTable& table(SeqId id) {
    const std::size_t slot = static_cast<std::uint32_t>(id);
    if (slot >= tables_.size()) tables_.resize(slot + 1);
    return tables_[slot];
  }

  BlockPool pool_;
  std::vector<BlockTable> tables_;  // by sequence slot
};

}  // namespace servecast
