// The CUDA kernels on the CPU, as a back end.
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/backend.hpp"
#include "kernels/emulation/emulator.hpp"

namespace servecast::kernels {

struct EmulationOptions {
  emulation::Options emulator;                        // architecture, order, when copies arrive
  std::int32_t processors = 4;                        // SMs that launchers are told of
  std::int64_t memory_bytes = std::int64_t{4} << 30;  // what can be allocated in all
};

// Launches run at once and are done when they return, whatever the stream; misuse that the emulator finds is
// Status::device. Null for an architecture that the emulator has no limits for.
[[nodiscard]] std::unique_ptr<Backend> make_emulated_backend(const EmulationOptions& options);

}  // namespace servecast::kernels
