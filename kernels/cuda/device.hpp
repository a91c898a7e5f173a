// One source, two worlds: what kernels and their launchers are written against. Compiled by nvcc it is CUDA; compiled
// as C++ with SERVECAST_EMULATION it runs on the CPU, see kernels/emulation/emulator.hpp. Device sources write
// `namespace servecast::kernels::SERVECAST_DEVICE { … }`.
//
// Both worlds offer, under the same names:
// - CUDA's keywords, built-in variables and types, barriers, shuffles, votes, atomics and float functions;
// - element types Bf16, F16 and Fp8 (E4M3), with to_float, from_float<T> (round to nearest, ties to even; fp8
//   saturates), pack2<T>, unpack2<T>, unpack4_fp8, unpack4_int8;
// - asynchronous copies, matrix loads and tensor core products;
// - dynamic_shared<T>(), and on the host launch(kernel, grid, arguments…).
// SERVECAST_ARCH is ten times the compute capability that device code is compiled for (90 in the host's pass and under
// emulation): code for less than sm_80 must not touch Bf16's arithmetic, asynchronous copies or mma_m16n8k16.
#pragma once

#include <cstdint>

#include "kernels/status.hpp"

#if defined(SERVECAST_EMULATION)
#define SERVECAST_DEVICE emulated
#define SERVECAST_ARCH 90
#include "kernels/cuda/device_emulated.hpp"
#else
#define SERVECAST_DEVICE cuda
#if defined(__CUDA_ARCH__)
#define SERVECAST_ARCH (__CUDA_ARCH__ / 10)
#else
#define SERVECAST_ARCH 90
#endif
#include "kernels/cuda/device_cuda.cuh"
#endif

namespace servecast::kernels::SERVECAST_DEVICE {

// What a launcher chooses its tiles by.
struct Target {
  int architecture = 0;                      // compute capability times ten
  int processors = 1;                        // SMs
  std::int64_t shared_memory_per_block = 0;  // with the opt-in
};

}  // namespace servecast::kernels::SERVECAST_DEVICE
