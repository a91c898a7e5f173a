// Back ends of the CPU set, and numbers to feed them.
#pragma once

#include <cstdint>
#include <doctest/doctest.h>
#include <memory>
#include <string>
#include <vector>

#include "kernels/cpu/backend.hpp"

namespace servecast::kernels {

inline std::vector<cpu::Isa> isas() {
  std::vector<cpu::Isa> all;
  for (const cpu::Isa isa : {cpu::Isa::kPortable, cpu::Isa::kAvx2, cpu::Isa::kAvx512}) {
    if (cpu::supported(isa)) all.push_back(isa);
  }
  return all;
}

inline std::unique_ptr<Backend> backend_with(cpu::Isa isa, std::int32_t threads = 1, bool deterministic = true) {
  return make_cpu_backend({threads, deterministic, isa});
}

inline void launch(Backend& backend, const Operation& operation) {
  const Status status = backend.launch(operation, nullptr);
  REQUIRE_MESSAGE(status.ok(), status.message());
}

// Numbers in [−½, ½), each seed its own.
inline std::vector<float> numbers(std::int64_t count, std::uint32_t seed) {
  std::vector<float> values(static_cast<std::size_t>(count));
  std::uint32_t state = seed * 2654435761U + 12345U;
  for (float& value : values) {
    state = state * 1664525U + 1013904223U;
    value = static_cast<float>(state >> 8) / 16777216.0F - 0.5F;
  }
  return values;
}

}  // namespace servecast::kernels
