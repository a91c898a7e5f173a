#include "kernels/cpu/micro/micro.hpp"

#include "kernels/cpu/micro/tables.hpp"

namespace servecast::kernels::cpu {

const Micro& micro_for(Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::kAvx512) return avx512_micro();
  if (isa == Isa::kAvx2) return avx2_micro();
#endif
  static_cast<void>(isa);
  return portable_micro();
}

}  // namespace servecast::kernels::cpu
