#include "kernels/emulation/messages.hpp"

#include <charconv>

namespace servecast::kernels::emulation {

Message& Message::add(std::uint64_t number) {
  std::array<char, 24> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  return add(std::string_view(digits.data(), static_cast<std::size_t>(end - digits.data())));
}

Message& Message::add(const uint3& index) {
  return add("(").add(index.x).add(", ").add(index.y).add(", ").add(index.z).add(")");
}

Message& Message::add(Place place) {
  const std::string_view file = place.file;
  return add(file.substr(file.find_last_of('/') + 1)).add(":").add(static_cast<std::uint64_t>(place.line));
}

}  // namespace servecast::kernels::emulation
