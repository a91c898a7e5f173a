#include "tests/fuzz/mutate.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace servecast::fuzz {
namespace {

using namespace std::string_view_literals;

constexpr std::size_t kMaxSize = std::size_t{1} << 16;

constexpr std::array kWords = {
    "-1"sv,
    "0"sv,
    "1e308"sv,
    "-0.0"sv,
    "1e-400"sv,
    "NaN"sv,
    "inf"sv,
    "9223372036854775808"sv,
    "1000000000000000000"sv,
    "null"sv,
    "true"sv,
    "\"\""sv,
    "\""sv,
    "{"sv,
    "}"sv,
    "["sv,
    "]"sv,
    ":"sv,
    ","sv,
    ",,"sv,
    "\n"sv,
    "\r\n"sv,
    "\t"sv,
    "\0"sv,
    "\\"sv,
    "\\ud800"sv,
    "\xEF\xBB\xBF"sv,
    "\xFF"sv,
    "#"sv,
    "- "sv,
    "&a "sv,
    "*a"sv,
    "<<: "sv,
    "|\n "sv,
    "2024-02-30 25:61:61"sv,
};

}  // namespace

std::string Mutator::next() {
  std::string input = any_seed();
  for (std::size_t edits = 1 + below(6); edits > 0; --edits) edit(input);
  if (input.size() > kMaxSize) input.resize(kMaxSize);
  return input;
}

void Mutator::edit(std::string& input) {
  const std::size_t at = below(input.size() + 1);
  const std::size_t length = std::min(input.size() - at, below(64) + 1);
  switch (below(7)) {
    case 0:  // flip one bit
      if (at < input.size()) input[at] = static_cast<char>(input[at] ^ (1 << below(8)));
      break;
    case 1:  // any byte
      if (at < input.size()) input[at] = static_cast<char>(below(256));
      break;
    case 2:
      input.erase(at, length);
      break;
    case 3:
      input.insert(at, input.substr(at, length));
      break;
    case 4:
      input.insert(at, kWords[below(kWords.size())]);
      break;
    case 5:
      input.replace(at, length, kWords[below(kWords.size())]);
      break;
    default: {  // the start of this one, the end of another
      const std::string& other = any_seed();
      input.replace(at, std::string::npos, other, below(other.size() + 1), std::string::npos);
    }
  }
}

}  // namespace servecast::fuzz
