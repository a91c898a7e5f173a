// What the fuzz targets of all trace readers share.
#pragma once

#include <cstdint>
#include <string_view>

#include "sim/error.hpp"
#include "traces/read.hpp"

namespace servecast {

// Reads the bytes as that format. Bad input may only end in an InputError; anything else is a finding.
inline int fuzz_reader(const char* format, const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const bool sort : {false, true}) {
    try {
      (void)read_trace(*memory_source(text, "fuzz"), {.format = format, .sort = sort, .tokenizer = {}});
    } catch (const InputError&) {
    }
  }
  return 0;
}

}  // namespace servecast
