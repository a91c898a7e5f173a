// Tiles of keys and values on their way from the pages to the tensor cores: copied asynchronously, a few tiles ahead of
// use, and dequantised on arrival where they are stored in eight bits.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/attention/fragments.cuh"
#include "kernels/cuda/attention/paged_kv.cuh"

namespace servecast::kernels::SERVECAST_DEVICE {

__device__ __forceinline__ void unpack_stored(std::uint32_t stored, float (&values)[4], Fp8) {
  unpack4_fp8(stored, values);
}
__device__ __forceinline__ void unpack_stored(std::uint32_t stored, float (&values)[4], std::int8_t) {
  unpack4_int8(stored, values);
}

// Sixteen stored values, times `scale`, as two chunks of elements.
template <class Element, class Stored>
__device__ __forceinline__ void dequantise(const uint4& stored, float scale, uint4 (&chunks)[2]) {
  const std::uint32_t words[4] = {stored.x, stored.y, stored.z, stored.w};
  std::uint32_t pairs[8];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    float values[4];
    unpack_stored(words[i], values, Stored{});
    pairs[2 * i] = pack2<Element>(values[0] * scale, values[1] * scale);
    pairs[2 * i + 1] = pack2<Element>(values[2] * scale, values[3] * scale);
  }
  chunks[0] = make_uint4(pairs[0], pairs[1], pairs[2], pairs[3]);
  chunks[1] = make_uint4(pairs[4], pairs[5], pairs[6], pairs[7]);
}

// Shape gives: Element, what the tensor cores take; Stored, what the cache holds; Isa; kHeadDim; kKeys in a tile;
// kThreads; kStages of tiles in shared memory, of which all but one are under way while one is used; kValuesApart,
// false where values are part of the rows of keys.
//
// All threads of a block call start() once, then next() for each tile of the range in turn.
//
// Eight bits are exact in either element type; a scale would cost that. So fp8 is converted without its scale, which
// belongs to the whole cache and goes to the scores' scale and the results, and int8 keys without theirs, which go to
// columns of scores. int8 values get theirs: on probabilities, fp16 would lose the small ones.
template <class Shape>
class KvPipeline {
  using Element = typename Shape::Element;
  using Stored = typename Shape::Stored;
  using Isa = typename Shape::Isa;
  static constexpr int kKeys = Shape::kKeys;
  static constexpr int kHeadDim = Shape::kHeadDim;
  static constexpr int kStages = Shape::kStages;
  static constexpr bool kConverts = sizeof(Stored) != sizeof(Element);
  static constexpr int kRowBytes = kHeadDim * static_cast<int>(sizeof(Stored));
  static constexpr int kRowChunks = kRowBytes / 16;
  static constexpr int kStoredBytes = kKeys * kRowBytes;  // of a tile of keys, or of values
  static constexpr int kTileElements = kKeys * kHeadDim;
  static constexpr int kTileBytes = kTileElements * static_cast<int>(sizeof(Element));
  static constexpr int kParts = Shape::kValuesApart ? 2 : 1;  // keys, values
  static_assert(kKeys * kRowChunks % Shape::kThreads == 0, "every thread copies the same number of chunks");
  static_assert(!kConverts || 2 * kKeys <= Shape::kThreads, "every scale of a tile has its thread");

 public:
  static constexpr bool kScales = std::is_same_v<Stored, std::int8_t>;  // one a token
  static constexpr std::int64_t kSharedBytes =
      kParts * (kStages * kStoredBytes + (kConverts ? kTileBytes : 0) + (kScales ? 2 * kKeys * 4 : 0));

  struct Tile {
    const Element* keys;
    const Element* values;
    const float* key_scales;  // one a key; null: all 1
  };

  // `shared` has kSharedBytes, aligned to 128.
  __device__ KvPipeline(const KvCache& cache, PagedRows rows, KeyRange range, unsigned char* shared)
      : cache_(cache), rows_(rows), range_(range), shared_(shared), fetched_(range.first / kKeys) {}

  __device__ void start() {
    if constexpr (kScales) load_scale(fetched_ * kKeys);
#pragma unroll
    for (int i = 0; i < kStages - 1; ++i) fetch();
  }

  // The next tile, valid until the next call. Rows outside the range are zeros.
  __device__ Tile next() {
    Isa::template wait<kStages - 2>();
    if constexpr (kScales) keep_scale();
    __syncthreads();  // the tile is there for all, and nobody uses the one before it any longer
    fetch();
    unsigned char* tile = stored(fetched_ % kStages);
    if constexpr (kScales) load_scale((fetched_ - kStages + 1) * kKeys);
    if constexpr (kConverts) {
      convert<false>(tile, converted(0));
      convert<kScales>(tile + kStoredBytes, converted(1));
      __syncthreads();
      return {converted(0), converted(1), kScales ? scales() : nullptr};
    } else {
      const auto* keys = reinterpret_cast<const Element*>(tile);
      return {keys, keys + (kParts - 1) * kTileElements, nullptr};
    }
  }

 private:
  __device__ __forceinline__ unsigned char* stored(int stage) const { return shared_ + stage * kParts * kStoredBytes; }
  __device__ __forceinline__ Element* converted(int part) const {
    return reinterpret_cast<Element*>(stored(kStages) + part * kTileBytes);
  }
  // Of the tile in use; those of the next one are written before all are done with these.
  __device__ __forceinline__ float* scales() const {
    return reinterpret_cast<float*>(stored(kStages) + kParts * kTileBytes) + scales_half_ * 2 * kKeys;
  }
  __device__ __forceinline__ bool in_range(int position) const {
    return position >= range_.first && position < range_.last;
  }

  // Begins the copies of one tile more. Behind the last one it only closes an empty group, so that waiting can count.
  __device__ __forceinline__ void fetch() {
    if (fetched_ * kKeys < range_.last) copy(fetched_ * kKeys, stored(fetched_ % kStages));
    Isa::commit();
    ++fetched_;
  }

  __device__ __forceinline__ void copy(int first_key, unsigned char* to) const {
    const auto* from_keys = static_cast<const unsigned char*>(cache_.keys);
    const auto* from_values = static_cast<const unsigned char*>(cache_.values);
#pragma unroll
    for (int step = 0; step < kKeys * kRowChunks / Shape::kThreads; ++step) {
      const int i = step * Shape::kThreads + thread_index();
      const int key = i / kRowChunks;
      const int chunk = i % kRowChunks;
      const bool reads = in_range(first_key + key);
      const std::int64_t from = (reads ? rows_.at(first_key + key) : 0) * kRowBytes + chunk * 16;
      const int at = kConverts ? i * 16 : swizzled<kHeadDim>(key, chunk) * 2;
      Isa::copy16(to + at, from_keys + from, reads);
      if constexpr (Shape::kValuesApart) Isa::copy16(to + kStoredBytes + at, from_values + from, reads);
    }
  }

  // The scales of the tile after this one travel in registers, keys' in the first threads, values' in the next ones.
  __device__ __forceinline__ void load_scale(int first_key) {
    const bool of_values = thread_index() >= kKeys;
    const int key = first_key + thread_index() - (of_values ? kKeys : 0);
    if (thread_index() >= 2 * kKeys || !in_range(key)) return;
    scale_ = (of_values ? cache_.value_scales : cache_.key_scales)[rows_.at(key)];
  }
  __device__ __forceinline__ void keep_scale() {
    scales_half_ ^= 1;
    if (thread_index() < 2 * kKeys) scales()[thread_index()] = scale_;
  }

  template <bool kScaled>
  __device__ __forceinline__ void convert(const unsigned char* from, Element* to) const {
    constexpr int kRowParts = kHeadDim / 16;
#pragma unroll
    for (int step = 0; step < kKeys * kRowParts / Shape::kThreads; ++step) {
      const int i = step * Shape::kThreads + thread_index();
      const int key = i / kRowParts;
      const int chunk = i % kRowParts * 2;
      const float scale = kScaled ? scales()[kKeys + key] : 1.0F;
      uint4 chunks[2];
      dequantise<Element, Stored>(*reinterpret_cast<const uint4*>(from + i * 16), scale, chunks);
      *reinterpret_cast<uint4*>(to + swizzled<kHeadDim>(key, chunk)) = chunks[0];
      *reinterpret_cast<uint4*>(to + swizzled<kHeadDim>(key, chunk + 1)) = chunks[1];
    }
  }

  const KvCache& cache_;
  PagedRows rows_;
  KeyRange range_;
  unsigned char* shared_;
  int fetched_;  // the tile that is fetched next
  float scale_ = 0;
  int scales_half_ = 0;
};

}  // namespace servecast::kernels::SERVECAST_DEVICE
