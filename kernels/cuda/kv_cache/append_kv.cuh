// Rotates new queries and keys, and writes new keys and values into the paged cache.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "kernels/cuda/common/reduce.cuh"
#include "kernels/cuda/common/vectors.cuh"

namespace servecast::kernels::SERVECAST_DEVICE {

inline constexpr int kHeadLanes = 8;  // lanes that share a head: with 16 bytes each, the half of 128 elements
inline constexpr int kAppendThreads = 256;
inline constexpr int kHeadsPerBlock = kAppendThreads / kHeadLanes;

// T: the type of what comes; C: of the cache (T, Fp8 or std::int8_t).
template <class T, class C>
struct NewTokens {
  const float* cos_sin;
  const std::int32_t* positions;
  const std::int64_t* slots;
  T* queries;
  const T* keys;
  const T* values;
  int heads;
  int kv_heads;
  int head_dim;  // a multiple of the kernel's kCount, as is rotary / 2
  int rotary;
  int page_size;
  C* key_cache;
  C* value_cache;
  float* key_scales;  // int8 only
  float* value_scales;
  float key_scale;  // fp8 only
  float value_scale;
};

// Calls visit(i, values) for elements i … i + kCount − 1 of a head, rotated by `angles` (cosines, then sines); the
// head's lanes share the elements.
template <int kCount, class T, class Visit>
__device__ __forceinline__ void visit_rotated(const T* head, const float* angles, int rotary, int head_dim,
                                              Visit&& visit) {
  const int first = lane_index() % kHeadLanes * kCount;
  const int half = rotary / 2;
  for (int i = first; i < half; i += kHeadLanes * kCount) {
    float low[kCount];
    float high[kCount];
    float cosines[kCount];
    float sines[kCount];
    load_floats<T, kCount>(head + i, low);
    load_floats<T, kCount>(head + half + i, high);
    load_floats<float, kCount>(angles + i, cosines);
    load_floats<float, kCount>(angles + half + i, sines);
#pragma unroll
    for (int j = 0; j < kCount; ++j) {
      const float x = low[j];
      low[j] = x * cosines[j] - high[j] * sines[j];
      high[j] = high[j] * cosines[j] + x * sines[j];
    }
    visit(i, low);
    visit(half + i, high);
  }
  for (int i = rotary + first; i < head_dim; i += kHeadLanes * kCount) {
    float values[kCount];
    load_floats<T, kCount>(head + i, values);
    visit(i, values);
  }
}

// The scale that maps the head's largest magnitude to 127. All lanes of the warp take part, also those of no head.
template <int kCount, class T>
__device__ float int8_scale(const T* head, const float* angles, int rotary, int head_dim) {
  float largest = 0;
  visit_rotated<kCount>(head, angles, rotary, head_dim, [&](int, const float(&values)[kCount]) {
#pragma unroll
    for (int j = 0; j < kCount; ++j) largest = fmaxf(largest, fabsf(values[j]));
  });
#pragma unroll
  for (int distance = kHeadLanes / 2; distance > 0; distance /= 2) {
    largest = fmaxf(largest, __shfl_xor_sync(kAllLanes, largest, distance));
  }
  return largest / 127.0F;
}

template <int kCount>
__device__ __forceinline__ void store_int8(std::int8_t* to, const float (&values)[kCount], float scale) {
  Vector<std::int8_t, kCount> stored;
#pragma unroll
  for (int j = 0; j < kCount; ++j) {
    const float steps = scale > 0.0F ? rintf(values[j] / scale) : 0.0F;
    stored.at[j] = static_cast<std::int8_t>(fminf(fmaxf(steps, -127.0F), 127.0F));
  }
  store_vector(to, stored);
}

// One head of a key or value to row `row` of the cache. A head_dim of 0 stands for lanes without a head.
template <int kCount, class T, class C>
__device__ void write_head(const T* head, const float* angles, int rotary, int head_dim, C* cache, float* scales,
                           float scale, std::int64_t row) {
  C* to = cache + row * head_dim;
  if constexpr (std::is_same_v<C, std::int8_t>) {
    scale = int8_scale<kCount>(head, angles, rotary, head_dim);
    if (head_dim > 0 && lane_index() % kHeadLanes == 0) scales[row] = scale;
  }
  visit_rotated<kCount>(head, angles, rotary, head_dim, [&](int i, float(&values)[kCount]) {
    if constexpr (std::is_same_v<C, std::int8_t>) {
      store_int8(to + i, values, scale);
    } else {
      if constexpr (std::is_same_v<C, Fp8>) {
#pragma unroll
        for (int j = 0; j < kCount; ++j) values[j] = values[j] / scale;
      }
      store_floats<C, kCount>(to + i, values);
    }
  });
}

// A token a block along x; along y, and over the groups of kHeadLanes lanes, its heads: queries, keys, values.
template <class T, class C, int kCount>
__global__ void __launch_bounds__(kAppendThreads) append_kv_kernel(NewTokens<T, C> tokens) {
  const std::int64_t token = blockIdx.x;
  const int head = static_cast<int>(blockIdx.y) * kHeadsPerBlock + thread_index() / kHeadLanes;
  const float* angles =
      tokens.rotary > 0 ? tokens.cos_sin + static_cast<std::int64_t>(tokens.positions[token]) * tokens.rotary : nullptr;
  if (head < tokens.heads) {
    T* query = tokens.queries + (token * tokens.heads + head) * tokens.head_dim;
    visit_rotated<kCount>(query, angles, tokens.rotary, tokens.rotary,
                          [&](int i, const float(&values)[kCount]) { store_floats<T, kCount>(query + i, values); });
  }
  const std::int64_t slot = tokens.slots[token];
  if (slot < 0) return;  // the whole block
  const int kv = head - tokens.heads;
  const bool writes = kv >= 0 && kv < 2 * tokens.kv_heads;
  const bool is_key = kv < tokens.kv_heads;
  const int kv_head = !writes ? 0 : is_key ? kv : kv - tokens.kv_heads;
  const std::int64_t row =
      (slot / tokens.page_size * tokens.kv_heads + kv_head) * tokens.page_size + slot % tokens.page_size;
  write_head<kCount>((is_key ? tokens.keys : tokens.values) + (token * tokens.kv_heads + kv_head) * tokens.head_dim,
                     angles, writes && is_key ? tokens.rotary : 0, writes ? tokens.head_dim : 0,
                     is_key ? tokens.key_cache : tokens.value_cache, is_key ? tokens.key_scales : tokens.value_scales,
                     is_key ? tokens.key_scale : tokens.value_scale, row);
}

}  // namespace servecast::kernels::SERVECAST_DEVICE
