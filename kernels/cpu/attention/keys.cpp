#include "kernels/cpu/attention/keys.hpp"

#include <algorithm>
#include <array>

namespace servecast::kernels::cpu {
namespace {

// What each of the 256 fp8 codes means.
const std::array<float, 256>& fp8_values() {
  static const auto kValues = [] {
    std::array<float, 256> each{};
    for (std::size_t code = 0; code < each.size(); ++code) each[code] = from_fp8(static_cast<std::uint8_t>(code));
    return each;
  }();
  return kValues;
}

// The vector in f32, zeros behind its end.
void stage(const VectorsAt& vectors, std::int64_t row, float* out) {
  const std::int64_t first = row * vectors.width;
  const float scale = vectors.scales == nullptr ? vectors.scale : vectors.scales[row];
  if (vectors.type == DType::kInt8) {
    const auto* from = static_cast<const std::int8_t*>(vectors.data) + first;
    for (std::int64_t i = 0; i < vectors.width; ++i) out[i] = static_cast<float>(from[i]) * scale;
  } else if (vectors.type == DType::kFp8) {
    const auto* from = static_cast<const std::uint8_t*>(vectors.data) + first;
    const auto& values = fp8_values();
    for (std::int64_t i = 0; i < vectors.width; ++i) out[i] = values[from[i]] * scale;
  } else {
    const float* from = static_cast<const float*>(vectors.data) + first;
    std::copy(from, from + vectors.width, out);
  }
  std::fill(out + vectors.width, out + padded(vectors.width), 0.0F);
}

bool direct(const VectorsAt& vectors) { return vectors.type == DType::kF32 && vectors.width % 16 == 0; }

const float* vector_of(const VectorsAt& vectors, std::int64_t row, float* staging) {
  if (direct(vectors)) return static_cast<const float*>(vectors.data) + row * vectors.width;
  stage(vectors, row, staging);
  return staging;
}

// Vectors of one position after another, without a division for each.
class Walk {
 public:
  Walk(const HeadKeys& head, std::int64_t position)
      : head_(head), page_(position / head.page_size), offset_(position % head.page_size) {
    enter();
  }

  std::int64_t next() {
    if (offset_ == head_.page_size) {
      ++page_;
      offset_ = 0;
      enter();
    }
    return start_ + offset_++ * head_.stride;
  }

 private:
  void enter() {
    const std::int64_t page = head_.pages == nullptr ? page_ : head_.pages[page_];
    start_ = page * head_.page_stride + head_.first;
  }

  const HeadKeys& head_;
  std::int64_t page_;
  std::int64_t offset_;
  std::int64_t start_ = 0;
};

// Scales stand beside int8 only, and fp8 has one for all.
VectorsAt half_of(const PagedKv& kv, const void* data, const float* scales, float scale) {
  return {kv.type, data, kv.type == DType::kInt8 ? scales : nullptr, kv.type == DType::kFp8 ? scale : 1, kv.head_dim};
}

}  // namespace

HeadKeys head_of(const PagedKv& kv, const std::int32_t* pages, std::int64_t kv_head) {
  HeadKeys head;
  head.keys = half_of(kv, kv.keys, kv.key_scales, kv.key_scale);
  head.values = half_of(kv, kv.values, kv.value_scales, kv.value_scale);
  head.pages = pages;
  head.page_size = kv.page_size;
  head.page_stride = std::int64_t{kv.kv_heads} * kv.page_size;
  head.first = kv_head * kv.page_size;
  return head;
}

void load_tile(const HeadKeys& head, std::int64_t base, std::int64_t from, std::int64_t to, float* staging,
               KeyTile& tile) {
  const bool shared = head.values.data == nullptr;
  float* staged_keys = staging;
  float* staged_values = staging + kTileKeys * padded(head.keys.width);
  const std::int64_t first = std::max(from - base, std::int64_t{0});
  const std::int64_t last = std::min(to - base, kTileKeys);
  Walk walk(head, base + first);
  for (std::int64_t j = first; j < last; ++j) {
    const std::int64_t row = walk.next();
    tile.keys[j] = vector_of(head.keys, row, staged_keys + j * padded(head.keys.width));
    tile.values[j] = shared ? tile.keys[j] : vector_of(head.values, row, staged_values + j * padded(head.values.width));
  }
  for (std::int64_t j = 0; j < kTileKeys; ++j) {
    if (j >= first && j < last) continue;
    tile.keys[j] = tile.keys[first];
    tile.values[j] = tile.values[first];
  }
}

}  // namespace servecast::kernels::cpu
