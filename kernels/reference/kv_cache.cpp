#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/reference/operators.hpp"

namespace servecast::kernels {
namespace {

constexpr double kUntouched = std::numeric_limits<double>::quiet_NaN();

// One head's vector with the first `rotary` elements rotated by the token's position.
std::vector<double> rotated(const AppendKv& op, const void* data, std::int64_t row, std::int64_t token) {
  const std::int64_t width = op.kv.head_dim;
  std::vector<double> vector;
  for (std::int64_t i = 0; i < width; ++i) vector.push_back(load(op.type, data, row * width + i));
  const std::int64_t half = op.rotary / 2;
  for (std::int64_t i = 0; i < half; ++i) {
    const float* angles = op.cos_sin + std::int64_t{op.positions[token]} * op.rotary;
    const double cosine = angles[i];
    const double sine = angles[half + i];
    double& first = vector[static_cast<std::size_t>(i)];
    double& second = vector[static_cast<std::size_t>(half + i)];
    const double before = first;
    first = before * cosine - second * sine;
    second = second * cosine + before * sine;
  }
  return vector;
}

std::vector<double> plain(const AppendKv& op, const void* data, std::int64_t row) {
  std::vector<double> vector;
  for (std::int64_t i = 0; i < op.kv.head_dim; ++i) vector.push_back(load(op.type, data, row * op.kv.head_dim + i));
  return vector;
}

// `value` as the format holds it.
double rounded(DType type, double value) {
  std::uint32_t bits = 0;
  store(type, &bits, 0, value);
  return load(type, &bits, 0);
}

struct CachedHalf {
  Expected elements;
  Expected scales;  // int8 only
};

CachedHalf untouched(const AppendKv& op, std::string_view elements, std::string_view scales) {
  return {{elements,
           op.kv.head_dim,
           {},
           std::vector<double>(static_cast<std::size_t>(op.kv.elements()), kUntouched),
           false},
          {scales, 1, {}, std::vector<double>(static_cast<std::size_t>(op.kv.scales()), kUntouched), false}};
}

// Rounds or quantises one vector as the cache stores it. int8: the largest magnitude becomes 127.
void write(const PagedKv& kv, double fp8_scale, const std::vector<double>& vector, std::int64_t row, CachedHalf& half) {
  double scale = kv.type == DType::kFp8 ? fp8_scale : 1;
  if (kv.type == DType::kInt8) {
    double largest = 0;
    for (const double value : vector) largest = std::max(largest, std::abs(value));
    scale = static_cast<float>(largest / 127);
    half.scales.values[static_cast<std::size_t>(row)] = scale;
  }
  for (std::size_t i = 0; i < vector.size(); ++i) {
    const double stored = scale > 0 ? rounded(kv.type, vector[i] / scale) : 0;
    half.elements.values[static_cast<std::size_t>(row * kv.head_dim) + i] = stored * scale;
  }
}

Expected bytes_of_blocks(std::string_view name, std::int64_t blocks, std::int64_t block_bytes) {
  return {name, block_bytes, {}, std::vector<double>(static_cast<std::size_t>(blocks * block_bytes), kUntouched), true};
}

void copy_block(const void* from, std::int64_t source, std::int64_t block_bytes, std::int64_t target, Expected& to) {
  for (std::int64_t i = 0; i < block_bytes; ++i) {
    to.values[static_cast<std::size_t>(target * block_bytes + i)] = load(DType::kInt8, from, source * block_bytes + i);
  }
}

}  // namespace

std::vector<Expected> reference_of(const AppendKv& op, const RowSample&) {
  Expected queries = by_rows("queries", std::int64_t{1} * op.tokens * op.heads, op.kv.head_dim, {},
                             [&](std::int64_t row, double* out) {
                               const auto vector = rotated(op, op.queries, row, row / op.heads);
                               std::copy(vector.begin(), vector.end(), out);
                             });
  CachedHalf keys = untouched(op, "keys", "key_scales");
  CachedHalf values = untouched(op, "values", "value_scales");
  for (std::int64_t token = 0; token < op.tokens; ++token) {
    const std::int64_t slot = op.slots[token];
    if (slot < 0) continue;
    for (std::int64_t head = 0; head < op.kv.kv_heads; ++head) {
      const std::int64_t from = token * op.kv.kv_heads + head;
      const std::int64_t to =
          (slot / op.kv.page_size * op.kv.kv_heads + head) * op.kv.page_size + slot % op.kv.page_size;
      write(op.kv, op.kv.key_scale, rotated(op, op.keys, from, token), to, keys);
      write(op.kv, op.kv.value_scale, plain(op, op.values, from), to, values);
    }
  }
  std::vector<Expected> expected = {queries, keys.elements, values.elements};
  if (op.kv.type == DType::kInt8) {
    expected.push_back(keys.scales);
    expected.push_back(values.scales);
  }
  return expected;
}

std::vector<Expected> reference_of(const CopyBlocks& op, const RowSample&) {
  Expected cache = bytes_of_blocks("cache", op.blocks, op.block_bytes);
  for (std::int64_t i = 0; i < op.pairs; ++i) {
    copy_block(op.cache, op.from_to[2 * i], op.block_bytes, op.from_to[2 * i + 1], cache);
  }
  return {cache};
}

std::vector<Expected> reference_of(const GatherBlocks& op, const RowSample&) {
  Expected target = op.scatter ? bytes_of_blocks("cache", op.blocks, op.block_bytes)
                               : bytes_of_blocks("packed", op.count, op.block_bytes);
  for (std::int64_t i = 0; i < op.count; ++i) {
    if (op.scatter) {
      copy_block(op.packed, i, op.block_bytes, op.list[i], target);
    } else {
      copy_block(op.cache, op.list[i], op.block_bytes, i, target);
    }
  }
  return {target};
}

}  // namespace servecast::kernels
