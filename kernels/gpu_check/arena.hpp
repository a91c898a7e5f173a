// One allocation that operands are laid out in, point after point; and the random numbers that they are filled with.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "kernels/gpu_check/device.hpp"

namespace servecast::kernels::gpu_check {

class Arena {
 public:
  explicit Arena(Device& device) : device_(device) {}
  Arena(const Arena&) = delete;  // it owns device memory
  Arena& operator=(const Arena&) = delete;
  ~Arena();

  // Takes `bytes`, or, halved until there is that much, less.
  Status reserve(std::int64_t bytes);
  [[nodiscard]] std::int64_t left() const { return bytes_ - used_; }
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }

  // Aligned to 256 bytes; null where no room is left. What was allocated lives until clear().
  [[nodiscard]] void* allocate(std::int64_t bytes);
  void clear() { used_ = 0; }

  // Random numbers of the type: in [−1, 1], or `positive` in (0, 1]; int8 and int4: any bits. Never zeros, which some
  // hardware is faster on. On a GPU the device copies them from a block that was made once.
  Status fill(void* pointer, DType type, std::int64_t bytes, bool positive);

 private:
  struct Block {
    std::vector<std::uint8_t> host;
    void* device = nullptr;
  };
  Status make_block(DType type, bool positive, Block*& block);

  Device& device_;
  std::uint8_t* base_ = nullptr;
  std::int64_t bytes_ = 0;
  std::int64_t used_ = 0;
  std::int64_t phase_ = 0;          // where in its block the next fill begins
  std::array<Block, 16> blocks_{};  // by type and sign
};

}  // namespace servecast::kernels::gpu_check
