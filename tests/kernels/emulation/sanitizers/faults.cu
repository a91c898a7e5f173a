// Kernels with one planted fault each, and their right forms, for planted_faults.py: run under the address or the
// thread sanitizer, the line marked with the fault's name must be found, and the right forms must pass.
//
// Usage: faults NAME. Exits with 0 if the kernel ran to its end.
#include <cstdint>
#include <cstdio>
#include <string_view>
#include <vector>

#include "kernels/cuda/device.hpp"

namespace servecast::kernels::SERVECAST_DEVICE {
namespace {

constexpr unsigned kThreads = 64;
constexpr unsigned kFloats = 4;  // of one asynchronous copy

struct Buffers {
  const float* in;  // [kFloats · kThreads]
  float* out;       // [kThreads]
};

template <bool kFault>
__global__ void static_overrun(Buffers buffers) {
  __shared__ float values[kThreads];
  const unsigned t = threadIdx.x;
  const unsigned last = kFault && t == kThreads - 1 ? 1 : 0;
  values[t + last] = buffers.in[t];  // static_overrun
  buffers.out[t] = values[t];
}

template <bool kFault>
__global__ void dynamic_overrun(Buffers buffers) {
  auto* const values = dynamic_shared<float>();
  const unsigned t = threadIdx.x;
  values[t + (kFault ? 1 : 0)] = buffers.in[t];  // dynamic_overrun
  buffers.out[t] = values[t];
}

template <bool kFault>
__global__ void global_overrun(Buffers buffers) {
  const unsigned t = threadIdx.x;
  buffers.out[t + (kFault ? 1 : 0)] = buffers.in[t];  // global_overrun
}

template <bool kFault>
__global__ void copy_overrun(Buffers buffers) {
  auto* const values = dynamic_shared<float>();
  const unsigned t = threadIdx.x;
  if (t < kThreads / kFloats) {
    const unsigned from = (t + (kFault ? kThreads : 0)) * kFloats;
    cp_async16(values + t * kFloats, buffers.in + from, 16);  // copy_overrun
    cp_async_commit();
    cp_async_wait<0>();
  }
  __syncthreads();
  buffers.out[t] = values[t];
}

template <bool kFault>
__global__ void exchange_in_warp(Buffers buffers) {
  __shared__ float values[kThreads];
  const unsigned t = threadIdx.x;
  values[t] = buffers.in[t];
  if constexpr (!kFault) __syncwarp();
  buffers.out[t] = values[t ^ 1U];  // exchange_in_warp
}

template <bool kFault>
__global__ void exchange_in_block(Buffers buffers) {
  __shared__ float values[kThreads];
  const unsigned t = threadIdx.x;
  values[t] = buffers.in[t];
  if constexpr (kFault) {
    __syncwarp();
  } else {
    __syncthreads();
  }
  buffers.out[t] = values[kThreads - 1 - t];  // exchange_in_block
}

template <bool kFault>
__global__ void copy_without_barrier(Buffers buffers) {
  auto* const values = dynamic_shared<float>();
  const unsigned t = threadIdx.x;
  cp_async16(values + t * kFloats, buffers.in + t * kFloats, 16);
  cp_async_commit();
  cp_async_wait<0>();
  if constexpr (!kFault) __syncthreads();
  buffers.out[t] = values[(t + 1) % kThreads * kFloats];  // copy_without_barrier
}

template <bool kFault>
__global__ void matrix_without_barrier(Buffers buffers) {
  auto* const values = dynamic_shared<float>();
  const unsigned t = threadIdx.x;
  for (unsigned i = 0; i < kFloats; ++i) values[t * kFloats + i] = buffers.in[t * kFloats + i];
  if constexpr (!kFault) __syncthreads();
  std::uint32_t registers[4];
  ldmatrix_x4(registers, values + (kThreads - 1 - t) * kFloats);  // matrix_without_barrier
  buffers.out[t] = static_cast<float>(registers[0]);
}

// The buffer is filled again while slower warps still read it.
template <bool kFault>
__global__ void reuse_without_barrier(Buffers buffers) {
  auto* const values = dynamic_shared<float>();
  const unsigned t = threadIdx.x;
  float sum = 0;
  for (int round = 0; round < 3; ++round) {
    values[t] = buffers.in[t] + static_cast<float>(round);  // reuse_without_barrier
    __syncthreads();
    sum += values[kThreads - 1 - t];
    if constexpr (!kFault) __syncthreads();
  }
  buffers.out[t] = sum;
}

// Atomic additions race with nothing, and a later block may use what an earlier one left.
__global__ void atomics(Buffers buffers) {
  atomicAdd(buffers.out + threadIdx.x % 2, 1.0F);
  if (threadIdx.x == 0) buffers.out[2 + blockIdx.x % 2] = 1;
}

struct Fault {
  std::string_view name;
  void (*kernel)(Buffers);
};

constexpr Fault kFaults[] = {
    {"static_overrun", static_overrun<true>},
    {"static_overrun_right", static_overrun<false>},
    {"dynamic_overrun", dynamic_overrun<true>},
    {"dynamic_overrun_right", dynamic_overrun<false>},
    {"global_overrun", global_overrun<true>},
    {"global_overrun_right", global_overrun<false>},
    {"copy_overrun", copy_overrun<true>},
    {"copy_overrun_right", copy_overrun<false>},
    {"exchange_in_warp", exchange_in_warp<true>},
    {"exchange_in_warp_right", exchange_in_warp<false>},
    {"exchange_in_block", exchange_in_block<true>},
    {"exchange_in_block_right", exchange_in_block<false>},
    {"copy_without_barrier", copy_without_barrier<true>},
    {"copy_without_barrier_right", copy_without_barrier<false>},
    {"matrix_without_barrier", matrix_without_barrier<true>},
    {"matrix_without_barrier_right", matrix_without_barrier<false>},
    {"reuse_without_barrier", reuse_without_barrier<true>},
    {"reuse_without_barrier_right", reuse_without_barrier<false>},
    {"atomics_right", atomics},
};

// What overruns, overruns what it was given; what races, races in a buffer that is large enough.
std::int64_t shared_bytes(std::string_view name) {
  const bool exact = name.starts_with("dynamic_overrun") || name.starts_with("copy_overrun") ||
                     name.starts_with("reuse_without_barrier");
  return std::int64_t{exact ? 1 : kFloats} * kThreads * std::int64_t{sizeof(float)};
}

int run(std::string_view name) {
  const std::vector<float> in(kFloats * kThreads, 1.0F);
  std::vector<float> out(kThreads);
  for (const Fault& fault : kFaults) {
    if (fault.name != name) continue;
    const Grid grid{.blocks = 3, .threads = kThreads, .shared_bytes = shared_bytes(name)};
    const Status status = launch(fault.kernel, grid, Buffers{in.data(), out.data()});
    if (!status.ok()) std::fprintf(stderr, "%s\n", status.message().c_str());
    return status.ok() ? 0 : 1;
  }
  std::fprintf(stderr, "no kernel of that name\n");
  return 2;
}

}  // namespace
}  // namespace servecast::kernels::SERVECAST_DEVICE

int main(int count, char** arguments) {
  return count == 2 ? servecast::kernels::SERVECAST_DEVICE::run(arguments[1]) : 2;
}
