// The CUDA world's side of device.hpp, which is what to include. Instructions are those of the PTX ISA 8.7.
#pragma once

#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>
#include <string>
#include <type_traits>

#include "kernels/status.hpp"

namespace servecast::kernels::cuda {

// ---- element types

using Bf16 = __nv_bfloat16;
using F16 = __half;
using Fp8 = __nv_fp8_e4m3;

__device__ __forceinline__ float to_float(float value) { return value; }
__device__ __forceinline__ float to_float(Bf16 value) { return __bfloat162float(value); }
__device__ __forceinline__ float to_float(F16 value) { return __half2float(value); }
__device__ __forceinline__ float to_float(Fp8 value) { return static_cast<float>(value); }

template <class T>
__device__ __forceinline__ T from_float(float value) {
  if constexpr (std::is_same_v<T, Bf16>) {
    return __float2bfloat16_rn(value);
  } else if constexpr (std::is_same_v<T, F16>) {
    return __float2half_rn(value);
  } else if constexpr (std::is_same_v<T, Fp8>) {
    return Fp8(value);
  } else {
    static_assert(std::is_same_v<T, float>);
    return value;
  }
}

template <class T>
__device__ __forceinline__ std::uint32_t pack2(float low, float high) {
  if constexpr (std::is_same_v<T, Bf16>) {
    const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
    return *reinterpret_cast<const std::uint32_t*>(&pair);
  } else {
    static_assert(std::is_same_v<T, F16>);
    const __half2 pair = __floats2half2_rn(low, high);
    return *reinterpret_cast<const std::uint32_t*>(&pair);
  }
}

template <class T>
__device__ __forceinline__ float2 unpack2(std::uint32_t pair) {
  if constexpr (std::is_same_v<T, Bf16>) {
    return make_float2(__uint_as_float(pair << 16), __uint_as_float(pair & 0xffff0000U));
  } else {
    static_assert(std::is_same_v<T, F16>);
    return __half22float2(*reinterpret_cast<const __half2*>(&pair));
  }
}

__device__ __forceinline__ void unpack4_fp8(std::uint32_t four, float (&values)[4]) {
#pragma unroll
  for (int pair = 0; pair < 2; ++pair) {
    const auto bits = static_cast<__nv_fp8x2_storage_t>(four >> (16 * pair));
    const float2 both = __half22float2(__half2(__nv_cvt_fp8x2_to_halfraw2(bits, __NV_E4M3)));
    values[2 * pair] = both.x;
    values[2 * pair + 1] = both.y;
  }
}

__device__ __forceinline__ void unpack4_int8(std::uint32_t four, float (&values)[4]) {
#pragma unroll
  for (int byte = 0; byte < 4; ++byte) {
    values[byte] = static_cast<float>(static_cast<std::int8_t>(four >> (8 * byte)));
  }
}

// ---- asynchronous copies: sm_80 and later

__device__ __forceinline__ std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

#if SERVECAST_ARCH >= 80
__device__ __forceinline__ void cp_async16(void* shared, const void* global, int source_bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(shared_address(shared)), "l"(global),
               "r"(source_bytes)
               : "memory");
}
__device__ __forceinline__ void cp_async_commit() { asm volatile("cp.async.commit_group;\n" ::: "memory"); }
template <int kPending>
__device__ __forceinline__ void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;\n" ::"n"(kPending) : "memory");
}
#endif

// ---- matrices

__device__ __forceinline__ void ldmatrix_x4(std::uint32_t (&r)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];\n"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row))
               : "memory");
}
__device__ __forceinline__ void ldmatrix_x4_trans(std::uint32_t (&r)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];\n"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row))
               : "memory");
}
__device__ __forceinline__ void ldmatrix_x2(std::uint32_t (&r)[2], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];\n"
               : "=r"(r[0]), "=r"(r[1])
               : "r"(shared_address(row))
               : "memory");
}
__device__ __forceinline__ void ldmatrix_x2_trans(std::uint32_t (&r)[2], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];\n"
               : "=r"(r[0]), "=r"(r[1])
               : "r"(shared_address(row))
               : "memory");
}

#if SERVECAST_ARCH >= 80
template <class T>
__device__ __forceinline__ void mma_m16n8k16(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                             std::uint32_t b1) {
  if constexpr (std::is_same_v<T, Bf16>) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\n"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  } else {
    static_assert(std::is_same_v<T, F16>);
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\n"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
}
#endif
__device__ __forceinline__ void mma_m16n8k8(float (&d)[4], std::uint32_t a0, std::uint32_t a1, std::uint32_t b0) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 "
      "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a0), "r"(a1), "r"(b0));
}

template <class T>
__device__ __forceinline__ T* dynamic_shared() {
  extern __shared__ __align__(128) unsigned char servecast_dynamic_shared[];
  return reinterpret_cast<T*>(servecast_dynamic_shared);
}

// ---- the host's side

using DeviceStream = cudaStream_t;

struct Grid {
  dim3 blocks;
  dim3 threads;
  std::int64_t shared_bytes = 0;
  DeviceStream stream = nullptr;
};

inline Status status_of(cudaError_t error) {
  if (error == cudaSuccess) return {};
  std::string message = cudaGetErrorName(error);
  message.append(": ").append(cudaGetErrorString(error));
  return Status::device(message);
}

// Without the opt-in a block has 48 KB, which its static shared memory shares: beyond this much dynamic memory the
// opt-in is asked for, whatever the kernel has of the other.
inline constexpr std::int64_t kDynamicWithoutOptIn = 16 * 1024;

// Launches, and returns what the launch itself says; the kernel's own errors come later.
template <class... P>
Status launch(void (*kernel)(P...), const Grid& grid, std::type_identity_t<P>... arguments) {
  const void* const entry = reinterpret_cast<const void*>(kernel);
  if (grid.shared_bytes > kDynamicWithoutOptIn) {
    const cudaError_t error =
        cudaFuncSetAttribute(entry, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(grid.shared_bytes));
    if (error != cudaSuccess) {
      static_cast<void>(cudaGetLastError());  // not sticky: the next launch must not report it
      return status_of(error);
    }
  }
  void* pointers[sizeof...(P) + 1] = {const_cast<void*>(static_cast<const void*>(&arguments))...,
                                      nullptr};  // one more: none may be empty
  const cudaError_t error = cudaLaunchKernel(entry, grid.blocks, grid.threads, pointers,
                                             static_cast<std::size_t>(grid.shared_bytes), grid.stream);
  if (error != cudaSuccess) static_cast<void>(cudaGetLastError());
  return status_of(error);
}

}  // namespace servecast::kernels::cuda
