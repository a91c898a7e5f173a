// Small launches for the tests of the emulator.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/cuda/device.hpp"

namespace servecast::kernels::emulated {

inline Grid one_block(dim3 threads, std::int64_t shared_bytes = 0, DeviceStream options = nullptr) {
  return Grid{.blocks = 1, .threads = threads, .shared_bytes = shared_bytes, .stream = options};
}

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// Every order and every time at which copies may arrive that a test should hold for.
inline std::vector<emulation::Options> all_orders() {
  std::vector<emulation::Options> all;
  for (const std::uint64_t seed : {0U, 1U, 2U, 3U}) {
    for (const auto copy : {emulation::AsyncCopy::kLazy, emulation::AsyncCopy::kEager}) {
      all.push_back({.seed = seed, .async_copy = copy});
    }
  }
  return all;
}

}  // namespace servecast::kernels::emulated
