// CUDA's names in the emulated world; see device.hpp, which is what to include.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <exception>
#include <tuple>
#include <type_traits>

#include "kernels/emulation/builtin_types.hpp"
#include "kernels/emulation/emulator.hpp"
#include "kernels/emulation/formats.hpp"
#include "kernels/emulation/instructions.hpp"
#include "kernels/emulation/limits.hpp"
#include "kernels/status.hpp"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __shared__ static  // blocks run one after another

#define threadIdx (::servecast::kernels::emulation::running->index)
#define blockIdx (::servecast::kernels::emulation::launch_state.block_index)
#define blockDim (::servecast::kernels::emulation::launch_state.block_size)
#define gridDim (::servecast::kernels::emulation::launch_state.grid_size)

namespace servecast::kernels::emulated {

using emulation::dim3;
using emulation::float2;
using emulation::float4;
using emulation::int2;
using emulation::int4;
using emulation::make_float2;
using emulation::make_float4;
using emulation::make_int2;
using emulation::make_int4;
using emulation::make_uint2;
using emulation::make_uint4;
using emulation::Place;
using emulation::uint2;
using emulation::uint3;
using emulation::uint4;
using std::max;
using std::min;

// ---- barriers, votes, shuffles

inline void __syncthreads(Place place = Place::here()) { emulation::sync_threads(place); }
inline void __syncwarp(std::uint32_t mask = ~0U, Place place = Place::here()) { emulation::sync_warp(mask, place); }
inline void __threadfence() { std::atomic_signal_fence(std::memory_order_seq_cst); }

inline std::uint32_t __ballot_sync(std::uint32_t mask, int predicate, Place place = Place::here()) {
  return emulation::vote(mask, predicate != 0, place).yes;
}
inline int __any_sync(std::uint32_t mask, int predicate, Place place = Place::here()) {
  return emulation::vote(mask, predicate != 0, place).yes != 0 ? 1 : 0;
}
inline int __all_sync(std::uint32_t mask, int predicate, Place place = Place::here()) {
  const emulation::Vote vote = emulation::vote(mask, predicate != 0, place);
  return vote.yes == vote.voters ? 1 : 0;
}

template <class T>
T shuffle_from(std::uint32_t mask, T value, unsigned source, Place place) {
  static_assert(std::is_trivially_copyable_v<T> && (sizeof(T) == 4 || sizeof(T) == 8));
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  bits = emulation::shuffle(mask, bits, source, place);
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

// `width` cuts the warp into segments, of which none reads another's lanes; a lane whose source would lie outside of
// its segment reads itself.
inline unsigned segment_of(int width) { return emulation::running->lane & ~(static_cast<unsigned>(width) - 1U); }

template <class T>
T __shfl_sync(std::uint32_t mask, T value, int source, int width = 32, Place place = Place::here()) {
  const unsigned within = static_cast<unsigned>(source) & (static_cast<unsigned>(width) - 1U);
  return shuffle_from(mask, value, segment_of(width) + within, place);
}

template <class T>
T __shfl_xor_sync(std::uint32_t mask, T value, int lanes, int width = 32, Place place = Place::here()) {
  const unsigned lane = emulation::running->lane;
  const unsigned source = lane ^ static_cast<unsigned>(lanes);
  return shuffle_from(mask, value, source < segment_of(width) + static_cast<unsigned>(width) ? source : lane, place);
}

template <class T>
T __shfl_down_sync(std::uint32_t mask, T value, unsigned lanes, int width = 32, Place place = Place::here()) {
  const unsigned lane = emulation::running->lane;
  const unsigned source = lane + lanes;
  return shuffle_from(mask, value, source < segment_of(width) + static_cast<unsigned>(width) ? source : lane, place);
}

template <class T>
T __shfl_up_sync(std::uint32_t mask, T value, unsigned lanes, int width = 32, Place place = Place::here()) {
  const unsigned lane = emulation::running->lane;
  return shuffle_from(mask, value, lane >= segment_of(width) + lanes ? lane - lanes : lane, place);
}

// ---- atomics. Relaxed, as CUDA's are.

template <class T>
T atomicAdd(T* address, std::type_identity_t<T> value) {
  return std::atomic_ref<T>(*address).fetch_add(value, std::memory_order_relaxed);
}

template <class T>
T atomicMax(T* address, std::type_identity_t<T> value) {
  const std::atomic_ref<T> cell(*address);
  T seen = cell.load(std::memory_order_relaxed);
  while (seen < value && !cell.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
  return seen;
}

// ---- bits and floats

inline int __popc(unsigned bits) { return std::popcount(bits); }
inline int __popcll(unsigned long long bits) { return std::popcount(bits); }
inline int __ffs(int bits) { return __builtin_ffs(bits); }
inline int __ffsll(long long bits) { return __builtin_ffsll(bits); }
inline int __clz(int bits) { return std::countl_zero(static_cast<unsigned>(bits)); }
inline float rsqrtf(float x) { return 1.0F / std::sqrt(x); }
inline float __expf(float x) { return std::exp(x); }
inline float __int_as_float(int bits) { return std::bit_cast<float>(bits); }
inline int __float_as_int(float value) { return std::bit_cast<int>(value); }
inline float __uint_as_float(unsigned bits) { return std::bit_cast<float>(bits); }
inline unsigned __float_as_uint(float value) { return std::bit_cast<unsigned>(value); }

template <class T>
T __ldg(const T* address) {
  return *address;
}

// ---- element types

struct Bf16 {
  std::uint16_t bits;
};
struct F16 {
  std::uint16_t bits;
};
struct Fp8 {
  std::uint8_t bits;
};

inline float to_float(float value) { return value; }
inline float to_float(Bf16 value) { return emulation::float_of_bf16(value.bits); }
inline float to_float(F16 value) { return emulation::float_of_f16(value.bits); }
inline float to_float(Fp8 value) { return emulation::float_of_fp8(value.bits); }

template <class T>
T from_float(float value) {
  if constexpr (std::is_same_v<T, Bf16>) {
    return {emulation::bf16_of(value)};
  } else if constexpr (std::is_same_v<T, F16>) {
    return {emulation::f16_of(value)};
  } else if constexpr (std::is_same_v<T, Fp8>) {
    return {emulation::fp8_of(value)};
  } else {
    static_assert(std::is_same_v<T, float>);
    return value;
  }
}

template <class T>
std::uint32_t pack2(float low, float high) {
  return from_float<T>(low).bits | static_cast<std::uint32_t>(from_float<T>(high).bits) << 16;
}

template <class T>
float2 unpack2(std::uint32_t pair) {
  return {to_float(T{static_cast<std::uint16_t>(pair)}), to_float(T{static_cast<std::uint16_t>(pair >> 16)})};
}

inline void unpack4_fp8(std::uint32_t four, float (&values)[4]) {
  for (float& value : values) {
    value = emulation::float_of_fp8(four & 0xffU);
    four >>= 8;
  }
}

inline void unpack4_int8(std::uint32_t four, float (&values)[4]) {
  for (float& value : values) {
    value = static_cast<std::int8_t>(four & 0xffU);
    four >>= 8;
  }
}

// ---- asynchronous copies and tensor cores

inline void cp_async16(void* shared, const void* global, int source_bytes, Place place = Place::here()) {
  emulation::copy_async(shared, global, source_bytes, place);
}
inline void cp_async_commit(Place place = Place::here()) { emulation::commit_copies(place); }
template <int kPending>
void cp_async_wait(Place place = Place::here()) {
  emulation::wait_copies(kPending, place);
}

inline void ldmatrix_x4(std::uint32_t (&r)[4], const void* row, Place place = Place::here()) {
  emulation::load_matrices(r, 4, false, row, place);
}
inline void ldmatrix_x4_trans(std::uint32_t (&r)[4], const void* row, Place place = Place::here()) {
  emulation::load_matrices(r, 4, true, row, place);
}
inline void ldmatrix_x2(std::uint32_t (&r)[2], const void* row, Place place = Place::here()) {
  emulation::load_matrices(r, 2, false, row, place);
}
inline void ldmatrix_x2_trans(std::uint32_t (&r)[2], const void* row, Place place = Place::here()) {
  emulation::load_matrices(r, 2, true, row, place);
}

template <class T>
void mma_m16n8k16(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1,
                  Place place = Place::here()) {
  static_assert(std::is_same_v<T, Bf16> || std::is_same_v<T, F16>);
  constexpr auto kFormat = std::is_same_v<T, Bf16> ? emulation::MatrixFormat::kBf16 : emulation::MatrixFormat::kF16;
  emulation::multiply_m16n8k16(kFormat, d, a, b0, b1, place);
}
inline void mma_m16n8k8(float (&d)[4], std::uint32_t a0, std::uint32_t a1, std::uint32_t b0,
                        Place place = Place::here()) {
  emulation::multiply_m16n8k8(d, a0, a1, b0, place);
}

template <class T>
T* dynamic_shared() {
  return reinterpret_cast<T*>(emulation::launch_state.shared);
}

// ---- the host's side

using DeviceStream = const emulation::Options*;  // how the emulator runs the launch; null: as by default

struct Grid {
  dim3 blocks;
  dim3 threads;
  std::int64_t shared_bytes = 0;
  DeviceStream stream = nullptr;
};

// Runs the kernel to its end. Misuse that the emulator finds is Status::device with the message.
template <class... P>
Status launch(void (*kernel)(P...), const Grid& grid, std::type_identity_t<P>... arguments) {
  struct Call {
    void (*kernel)(P...);
    std::tuple<P...> arguments;
  } call{kernel, {arguments...}};
  const auto run_thread = [](void* context) {
    const auto& shared = *static_cast<const Call*>(context);
    std::apply(shared.kernel, shared.arguments);
  };
  const emulation::Options options = grid.stream != nullptr ? *grid.stream : emulation::Options{};
  const bool opt_in = grid.shared_bytes > emulation::kDynamicWithoutOptIn;
  try {
    emulation::run(options, {grid.blocks, grid.threads, grid.shared_bytes, opt_in}, {run_thread, &call});
  } catch (const std::exception& error) {
    return Status::device(error.what());
  }
  return {};
}

}  // namespace servecast::kernels::emulated
