// Neighbouring elements of a row, moved at once and held as floats.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/device.hpp"

namespace servecast::kernels::SERVECAST_DEVICE {

// Elements of a two-byte type that one 16-byte access moves.
inline constexpr int kWide = 8;

// What `count` neighbours of T are aligned to: their size, or the 16 bytes that one access moves at most.
template <class T>
constexpr std::size_t alignment_of(int count) {
  const std::size_t bytes = sizeof(T) * static_cast<std::size_t>(count);
  return bytes < 16 ? bytes : 16;
}

template <class T, int kCount>
struct alignas(alignment_of<T>(kCount)) Vector {
  T at[kCount];
};

template <class T, int kCount>
__device__ __forceinline__ Vector<T, kCount> load_vector(const T* from) {
  return *reinterpret_cast<const Vector<T, kCount>*>(from);
}

template <class T, int kCount>
__device__ __forceinline__ void store_vector(T* to, const Vector<T, kCount>& values) {
  *reinterpret_cast<Vector<T, kCount>*>(to) = values;
}

template <class T, int kCount>
__device__ __forceinline__ void load_floats(const T* from, float (&to)[kCount]) {
  const Vector<T, kCount> values = load_vector<T, kCount>(from);
#pragma unroll
  for (int i = 0; i < kCount; ++i) to[i] = to_float(values.at[i]);
}

template <class T, int kCount>
__device__ __forceinline__ void store_floats(T* to, const float (&from)[kCount]) {
  Vector<T, kCount> values;
#pragma unroll
  for (int i = 0; i < kCount; ++i) values.at[i] = from_float<T>(from[i]);
  store_vector<T, kCount>(to, values);
}

// Indices as signed numbers: what they are added to can be negative or 64-bit.
__device__ __forceinline__ int thread_index() { return static_cast<int>(threadIdx.x); }
__device__ __forceinline__ int thread_count() { return static_cast<int>(blockDim.x); }
__device__ __forceinline__ int lane_index() { return static_cast<int>(threadIdx.x) % 32; }
__device__ __forceinline__ int warp_index() { return static_cast<int>(threadIdx.x) / 32; }
__device__ __forceinline__ int warp_count() { return static_cast<int>(blockDim.x) / 32; }

// Whether `count` elements of T can be moved at once, wherever a row of `width` begins behind `base`.
template <class T>
bool aligned_rows(const void* base, std::int64_t width, int count) {
  return width % count == 0 && reinterpret_cast<std::uintptr_t>(base) % alignment_of<T>(count) == 0;
}

}  // namespace servecast::kernels::SERVECAST_DEVICE
