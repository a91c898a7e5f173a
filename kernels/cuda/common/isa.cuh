// What a kernel's inner loop asks of the hardware, in two generations. A kernel is written once over either of them;
// its body is compiled only in the passes that have the instructions.
#pragma once

#include <cstdint>

#include "kernels/cuda/device.hpp"

namespace servecast::kernels::SERVECAST_DEVICE {

#if SERVECAST_ARCH >= 80
// sm_80 and later: asynchronous copies, products of depth 16.
struct Ampere {
  static constexpr bool kCompiled = true;

  // Zeros where there is nothing to read; `from` is a valid address all the same.
  __device__ static __forceinline__ void copy16(void* to, const void* from, bool reads) {
    cp_async16(to, from, reads ? 16 : 0);
  }
  __device__ static __forceinline__ void commit() { cp_async_commit(); }
  // Waits until at most kPending groups of this thread's copies are under way.
  template <int kPending>
  __device__ static __forceinline__ void wait() {
    cp_async_wait<kPending>();
  }
  template <class T>
  __device__ static __forceinline__ void multiply(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                                  std::uint32_t b1) {
    mma_m16n8k16<T>(d, a, b0, b1);
  }
};
#else
struct Ampere {
  static constexpr bool kCompiled = false;
};
#endif

#if SERVECAST_ARCH < 80 || defined(SERVECAST_EMULATION)
// sm_75: copies are plain loads and stores, products have depth 8, fp16 only. A fragment of depth 16 is two of depth 8
// side by side.
struct Turing {
  static constexpr bool kCompiled = true;

  __device__ static __forceinline__ void copy16(void* to, const void* from, bool reads) {
    uint4 chunk = make_uint4(0, 0, 0, 0);
    if (reads) chunk = *static_cast<const uint4*>(from);
    *static_cast<uint4*>(to) = chunk;
  }
  __device__ static __forceinline__ void commit() {}
  template <int kPending>
  __device__ static __forceinline__ void wait() {}
  template <class T>
  __device__ static __forceinline__ void multiply(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                                  std::uint32_t b1) {
    mma_m16n8k8(d, a[0], a[1], b0);
    mma_m16n8k8(d, a[2], a[3], b1);
  }
};
#else
struct Turing {
  static constexpr bool kCompiled = false;
};
#endif

}  // namespace servecast::kernels::SERVECAST_DEVICE
