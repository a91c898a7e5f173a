// The CPU set as a back end: f32, on the host's own memory, launches done when they return.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "kernels/backend.hpp"
#include "kernels/cpu/isa.hpp"

namespace servecast::kernels {

struct CpuOptions {
  std::int32_t threads = 1;  // that compute, the caller among them
  // Results depend on nothing but a row's own operands: not on batch, chunk, pages, threads or splits. Else decode
  // attention splits keys as the operation says, which lets threads share one long sequence.
  bool deterministic = true;
  std::optional<cpu::Isa> isa;  // the best that the machine has, if none is named
};

// Null if `isa` is one that this machine does not run, or threads is below 1.
[[nodiscard]] std::unique_ptr<Backend> make_cpu_backend(const CpuOptions& options = {});

// Packs weights [n][k] for WeightLayout::kPanels: [⌈n/32⌉][k][32], zeros behind the last row.
void pack_panels(const float* rows, std::int64_t n, std::int64_t k, float* panels);

}  // namespace servecast::kernels
