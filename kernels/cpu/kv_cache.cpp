#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/cpu/operators.hpp"

namespace servecast::kernels::cpu {
namespace {

// Element `i` of a head's vector once its first `rotary` elements are turned by the token's position. In double: a
// value that is quantised next must not fall on the other side of a step for the last bit of a float.
class Rotation {
 public:
  Rotation(const AppendKv& op, std::int64_t token)
      : half_(op.rotary / 2),
        cosines_(op.rotary > 0 ? op.cos_sin + std::int64_t{op.positions[token]} * op.rotary : nullptr) {}

  [[nodiscard]] double at(const float* vector, std::int64_t i) const {
    if (i >= 2 * half_) return vector[i];
    if (i < half_) return double{vector[i]} * cosines_[i] - double{vector[half_ + i]} * cosines_[half_ + i];
    return double{vector[i]} * cosines_[i - half_] + double{vector[i - half_]} * cosines_[i];
  }

  void turn(float* vector) const {
    for (std::int64_t i = 0; i < half_; ++i) {
      const double first = at(vector, i);
      const double second = at(vector, half_ + i);
      vector[i] = static_cast<float>(first);
      vector[half_ + i] = static_cast<float>(second);
    }
  }

 private:
  std::int64_t half_;
  const float* cosines_;  // then the sines
};

// Writes one vector to its row of the cache, rounded or quantised. int8: the largest magnitude becomes 127.
template <class Element>
void write(const PagedKv& kv, void* cache, float* scales, float fp8_scale, std::int64_t row, Element&& element) {
  const std::int64_t first = row * kv.head_dim;
  double scale = kv.type == DType::kFp8 ? double{fp8_scale} : 1;
  if (kv.type == DType::kInt8) {
    double largest = 0;
    for (std::int64_t i = 0; i < kv.head_dim; ++i) largest = std::max(largest, std::abs(element(i)));
    scales[row] = static_cast<float>(largest / 127);
    scale = scales[row];
  }
  for (std::int64_t i = 0; i < kv.head_dim; ++i) {
    store(kv.type, cache, first + i, scale > 0 ? element(i) / scale : 0);
  }
}

void append_token(const AppendKv& op, std::int64_t token) {
  const Rotation rotation(op, token);
  auto* queries = static_cast<float*>(op.queries) + token * op.heads * op.kv.head_dim;
  for (std::int64_t head = 0; head < op.heads; ++head) rotation.turn(queries + head * op.kv.head_dim);
  const std::int64_t slot = op.slots[token];
  if (slot < 0) return;
  const PagedKv& kv = op.kv;
  for (std::int64_t head = 0; head < kv.kv_heads; ++head) {
    const std::int64_t from = (token * kv.kv_heads + head) * kv.head_dim;
    const std::int64_t row = (slot / kv.page_size * kv.kv_heads + head) * kv.page_size + slot % kv.page_size;
    const float* key = static_cast<const float*>(op.keys) + from;
    const float* value = static_cast<const float*>(op.values) + from;
    write(kv, kv.keys, kv.key_scales, kv.key_scale, row, [&](std::int64_t i) { return rotation.at(key, i); });
    write(kv, kv.values, kv.value_scales, kv.value_scale, row, [&](std::int64_t i) { return double{value[i]}; });
  }
}

void copy_block(const void* from, std::int64_t source, void* to, std::int64_t target, std::int64_t block_bytes) {
  std::memcpy(static_cast<char*>(to) + target * block_bytes, static_cast<const char*>(from) + source * block_bytes,
              static_cast<std::size_t>(block_bytes));
}

}  // namespace

void run(const AppendKv& op, Runtime& runtime) {
  runtime.pool().for_each(op.tokens, [&](std::int64_t token, std::int32_t) { append_token(op, token); });
}

void run(const CopyBlocks& op, Runtime& runtime) {
  runtime.pool().for_each(op.pairs, [&](std::int64_t i, std::int32_t) {
    copy_block(op.cache, op.from_to[2 * i], op.cache, op.from_to[2 * i + 1], op.block_bytes);
  });
}

void run(const GatherBlocks& op, Runtime& runtime) {
  runtime.pool().for_each(op.count, [&](std::int64_t i, std::int32_t) {
    if (op.scatter) {
      copy_block(op.packed, i, op.cache, op.list[i], op.block_bytes);
    } else {
      copy_block(op.cache, op.list[i], op.packed, i, op.block_bytes);
    }
  });
}

}  // namespace servecast::kernels::cpu
