// Which instruction set the CPU set's inner loops use. One process uses one: results of different sets differ in the
// last bits, since wider vectors add in another order.
#pragma once

#include <cstdint>
#include <string_view>

namespace servecast::kernels::cpu {

enum class Isa : std::uint8_t {
  kPortable,  // vectors of four floats as any compiler maps them (SSE2, NEON); multiplies and adds are not fused
  kAvx2,      // with FMA
  kAvx512,
};

[[nodiscard]] std::string_view name_of(Isa isa);
// Whether this build has the loops and this machine runs them.
[[nodiscard]] bool supported(Isa isa);
// The widest that is supported.
[[nodiscard]] Isa best_isa();

}  // namespace servecast::kernels::cpu
