// The tables that this build has.
#pragma once

#include "kernels/cpu/micro/micro.hpp"

namespace servecast::kernels::cpu {

[[nodiscard]] const Micro& portable_micro();
#if defined(__x86_64__)
[[nodiscard]] const Micro& avx2_micro();
[[nodiscard]] const Micro& avx512_micro();
#endif

}  // namespace servecast::kernels::cpu
