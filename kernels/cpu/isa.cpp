#include "kernels/cpu/isa.hpp"

namespace servecast::kernels::cpu {

std::string_view name_of(Isa isa) {
  switch (isa) {
    case Isa::kPortable:
      return "portable";
    case Isa::kAvx2:
      return "avx2";
    case Isa::kAvx512:
      return "avx512";
  }
  return "?";
}

#if defined(__x86_64__)
bool supported(Isa isa) {
  switch (isa) {
    case Isa::kPortable:
      return true;
    case Isa::kAvx2:
      return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
    case Isa::kAvx512:
      return __builtin_cpu_supports("avx512f") != 0;
  }
  return false;
}
#else
bool supported(Isa isa) { return isa == Isa::kPortable; }
#endif

Isa best_isa() {
  for (const Isa isa : {Isa::kAvx512, Isa::kAvx2}) {
    if (supported(isa)) return isa;
  }
  return Isa::kPortable;
}

}  // namespace servecast::kernels::cpu
