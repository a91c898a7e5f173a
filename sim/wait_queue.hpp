// The waiting requests of a replica, in queue order. A ring that grows and never shrinks.
#pragma once

#include <cstdint>
#include <vector>

namespace servecast {

class WaitQueue {
 public:
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(size_); }
  [[nodiscard]] std::uint32_t front() const { return ring_[head_]; }
  [[nodiscard]] std::uint32_t at(std::size_t position) const { return ring_[(head_ + position) & (ring_.size() - 1)]; }

  void push_back(std::uint32_t request) {
    if (size_ == ring_.size()) grow();
    ring_[(head_ + size_) & (ring_.size() - 1)] = request;
    ++size_;
  }
  void push_front(std::uint32_t request) {
    if (size_ == ring_.size()) grow();
    head_ = (head_ + ring_.size() - 1) & (ring_.size() - 1);
    ring_[head_] = request;
    ++size_;
  }
  void pop_front() {
    head_ = (head_ + 1) & (ring_.size() - 1);
    --size_;
  }

 private:
  void grow() {
    std::vector<std::uint32_t> larger(ring_.size() * 2);
    for (std::size_t i = 0; i < size_; ++i) larger[i] = at(i);
    ring_ = std::move(larger);
    head_ = 0;
  }

  std::vector<std::uint32_t> ring_ = std::vector<std::uint32_t>(64);
  std::size_t head_ = 0, size_ = 0;
};

}  // namespace servecast
