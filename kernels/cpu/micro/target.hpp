// What the templates of this folder are declared with. A .cpp that compiles them for an instruction set defines
// SERVECAST_ISA before it includes them, as the function attribute of that set.
//
// The templates call nothing but each other and their vector type's members.
#pragma once

#include <cstddef>

#if !defined(SERVECAST_ISA)
#define SERVECAST_ISA
#endif

#define SERVECAST_LANE SERVECAST_ISA __attribute__((always_inline)) static inline

// Sums live in registers only if the loops over them are gone.
#if defined(__clang__)
#define SERVECAST_UNROLL _Pragma("clang loop unroll(full)")
#define SERVECAST_UNROLL_TWICE _Pragma("clang loop unroll_count(2)")
#else
#define SERVECAST_UNROLL _Pragma("GCC unroll 32")
#define SERVECAST_UNROLL_TWICE _Pragma("GCC unroll 2")
#endif

namespace servecast::kernels::cpu {

template <class T, int kCount>
using Block = T[static_cast<std::size_t>(kCount)];
template <class Lanes, int kCount>
using Vectors = typename Lanes::Vector[static_cast<std::size_t>(kCount)];

}  // namespace servecast::kernels::cpu
