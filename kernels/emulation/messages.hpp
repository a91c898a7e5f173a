// How errors name a thread and a line.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kernels/emulation/instructions.hpp"

namespace servecast::kernels::emulation {

// Text that owns nothing: whoever fails leaves its stack for good, and nobody would free a string there. What does not
// fit is cut.
class Message {
 public:
  Message() = default;
  explicit Message(std::string_view text) { add(text); }

  Message& add(std::string_view text) {
    const std::size_t fits = std::min(text.size(), text_.size() - size_);
    std::copy_n(text.data(), fits, text_.data() + size_);
    size_ += fits;
    return *this;
  }
  Message& add(std::uint64_t number);
  Message& add(const uint3& index);  // "(3, 0, 0)"
  Message& add(Place place);         // "kernel.cu:12": the file without its folders

  [[nodiscard]] std::string_view text() const { return {text_.data(), size_}; }

 private:
  std::array<char, 1024> text_;
  std::size_t size_ = 0;
};

}  // namespace servecast::kernels::emulation
