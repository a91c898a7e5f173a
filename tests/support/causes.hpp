// A request's time by cause.
#pragma once

#include <cstddef>
#include <numeric>
#include <string>

#include "sim/request.hpp"

namespace servecast::test {

inline Duration sum_of_causes(const Request& r) { return std::accumulate(r.spent.begin(), r.spent.end(), Duration{0}); }

// Every cause that is not zero, in seconds: "prefill=1.0 decode=2.5".
inline std::string text_of_causes(const Request& r) {
  std::string text;
  for (std::size_t c = 0; c < kCauses; ++c) {
    if (r.spent[c] == Duration{0}) continue;
    const std::string spent = std::to_string(seconds(r.spent[c]));
    text += (text.empty() ? "" : " ") + (name(static_cast<Cause>(c)) + ("=" + spent.substr(0, spent.find('.') + 2)));
  }
  return text;
}

}  // namespace servecast::test
