// Counts that must not mix: tokens, KV blocks, bytes. Each is a 64-bit integer with its own type;
// `count()` leaves the type, at the edge or where a formula crosses units.
#pragma once

#include <compare>
#include <cstdint>

namespace servecast {

template <class Tag>
class Quantity {
 public:
  constexpr Quantity() = default;
  constexpr explicit Quantity(std::int64_t count) : count_(count) {}
  [[nodiscard]] constexpr std::int64_t count() const { return count_; }

  constexpr Quantity& operator+=(Quantity other) {
    count_ += other.count_;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity other) {
    count_ -= other.count_;
    return *this;
  }
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity{a.count_ + b.count_}; }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity{a.count_ - b.count_}; }
  friend constexpr Quantity operator*(Quantity a, std::int64_t factor) { return Quantity{a.count_ * factor}; }
  friend constexpr Quantity operator*(std::int64_t factor, Quantity a) { return a * factor; }
  // How many whole `b` fit in `a`.
  friend constexpr std::int64_t operator/(Quantity a, Quantity b) { return a.count_ / b.count_; }
  friend constexpr auto operator<=>(Quantity, Quantity) = default;

 private:
  std::int64_t count_ = 0;
};

using Tokens = Quantity<struct TokensTag>;
using Blocks = Quantity<struct BlocksTag>;
using Bytes = Quantity<struct BytesTag>;

// ⌈tokens / block_size⌉. Requires block_size > 0 and tokens >= 0.
[[nodiscard]] constexpr Blocks blocks_for(Tokens tokens, Tokens block_size) {
  return Blocks{(tokens.count() + block_size.count() - 1) / block_size.count()};
}

}  // namespace servecast
