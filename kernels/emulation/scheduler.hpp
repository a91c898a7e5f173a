// Which thread of a block runs next: first come, first served, or drawn from a seed.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "kernels/emulation/limits.hpp"

namespace servecast::kernels::emulation {

// SplitMix64 (Steele, Lea, Flood 2014): any seed begins a good sequence.
class RandomOrder {
 public:
  explicit RandomOrder(std::uint64_t seed) : state_(seed) {}

  // Below `bound`, which is at least 1 and less than 2^32.
  std::uint64_t below(std::uint64_t bound) {
    state_ += 0x9e3779b97f4a7c15ULL;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ULL;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebULL;
    return ((mixed ^ (mixed >> 31)) >> 32) * bound >> 32;
  }

 private:
  std::uint64_t state_;
};

class ReadyQueue {
 public:
  void clear() { head_ = tail_ = 0; }
  [[nodiscard]] bool empty() const { return head_ == tail_; }
  void push(unsigned thread) { threads_[tail_++ % kMaxThreads] = static_cast<std::uint16_t>(thread); }
  unsigned pop() { return threads_[head_++ % kMaxThreads]; }
  unsigned pop(RandomOrder& order) {
    const auto chosen = head_ + static_cast<std::uint32_t>(order.below(tail_ - head_));
    std::swap(threads_[chosen % kMaxThreads], threads_[head_ % kMaxThreads]);
    return pop();
  }

 private:
  std::array<std::uint16_t, kMaxThreads> threads_{};  // each thread stands here once at most
  std::uint32_t head_ = 0;
  std::uint32_t tail_ = 0;
};

}  // namespace servecast::kernels::emulation
