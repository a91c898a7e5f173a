// Reading small traces from text, and what the tests ask of an error.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "sim/error.hpp"
#include "traces/read.hpp"

namespace servecast {

inline ReadResult read_text(std::string_view text, const ReadOptions& options = {}) {
  return read_trace(*memory_source(text, "t"), options);
}

// The message of the InputError that `act` throws; empty where it throws none.
template <class Act>
std::string message_of(Act act) {
  try {
    act();
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

inline std::string read_error(std::string_view text, const ReadOptions& options = {}) {
  return message_of([&] { read_text(text, options); });
}

inline std::int64_t dropped(const TraceReport& report, const std::string& reason) {
  for (const TraceReport::Drop& drop : report.dropped) {
    if (drop.reason == reason) return drop.rows;
  }
  return 0;
}

// A public trace beside the source tree; empty where it is not there.
inline std::string public_trace(const std::string& name) {
  const std::string path = std::string(SERVECAST_SOURCE_DIR) + "/../shared/data/" + name;
  return std::filesystem::exists(path) ? path : std::string{};
}

}  // namespace servecast
