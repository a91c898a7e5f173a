// The KV memory of one replica, counted. Blocks that no prefix refers to are all alike, so the cache counts
// them instead of linking them; who owns how many is known by the sequences. Older systems reserve contiguous
// slots: for them a block is one token.
#pragma once

#include <cassert>

#include "sim/units.hpp"

namespace servecast {

class KvCache {
 public:
  // `usable`: blocks a policy may hand out (without the null block that vLLM V1 keeps).
  KvCache(Blocks usable, Tokens block_size) : usable_(usable), free_(usable), block_size_(block_size) {}

  [[nodiscard]] Blocks usable() const { return usable_; }
  [[nodiscard]] Blocks free() const { return free_; }
  [[nodiscard]] Blocks used() const { return usable_ - free_; }
  [[nodiscard]] Tokens block_size() const { return block_size_; }
  [[nodiscard]] Blocks blocks_of(Tokens tokens) const { return blocks_for(tokens, block_size_); }

  // Requires wanted <= free().
  void take(Blocks wanted) {
    assert(wanted >= Blocks{0} && wanted <= free_);
    free_ -= wanted;
    if (used() > peak_) peak_ = used();
  }
  // Requires that so many are in use.
  void give(Blocks returned) {
    assert(returned >= Blocks{0} && free_ + returned <= usable_);
    free_ += returned;
  }
  [[nodiscard]] Blocks peak() const { return peak_; }

 private:
  Blocks usable_, free_;
  Blocks peak_;
  Tokens block_size_;
};

}  // namespace servecast
