// What moves keys and values into, inside and out of the paged cache.
#pragma once

#include <cstdint>

#include "kernels/operators/attention.hpp"
#include "kernels/operators/operator.hpp"

namespace servecast::kernels {

// Rotates queries and keys by their positions and writes keys and values to their slots of the cache, rounded or
// quantised to its type. Rotation pairs element i with i + rotary/2 of a head (GPT-NeoX order); elements beyond
// `rotary` pass through. int8: the scale is the vector's largest magnitude / 127, in single precision. The angles are
// made in double on the host (rope_table) and shared by all back ends.
struct AppendKv {
  DType type = DType::kBf16;  // of queries, keys and values as they come
  std::int32_t tokens = 1;
  std::int32_t heads = 1;
  std::int32_t rotary = 0;                  // rotated elements of a head, even; 0: none
  std::int32_t max_position = 0;            // rows of the table
  const float* cos_sin = nullptr;           // [max_position][rotary]: cosines, then sines
  const std::int32_t* positions = nullptr;  // [tokens]
  const std::int64_t* slots = nullptr;      // [tokens]: page · page_size + offset; negative: write nothing
  void* queries = nullptr;                  // [tokens][heads][head_dim], rotated in place
  const void* keys = nullptr;               // [tokens][kv_heads][head_dim]
  const void* values = nullptr;             // as keys
  PagedKv kv;
};

// Copies whole blocks inside a cache: what copy-on-write needs. No block may be source and destination at once.
struct CopyBlocks {
  std::int32_t pairs = 0;
  std::int32_t blocks = 0;                // in the cache
  std::int64_t block_bytes = 0;           // a multiple of 16
  const std::int32_t* from_to = nullptr;  // [pairs][2]
  void* cache = nullptr;                  // [blocks][block_bytes]
};

// Packs scattered blocks into one contiguous buffer, for a transfer or a swap; or, `scatter`, puts them back.
struct GatherBlocks {
  std::int32_t count = 0;
  std::int32_t blocks = 0;
  std::int64_t block_bytes = 0;  // a multiple of 16
  bool scatter = false;
  const std::int32_t* list = nullptr;  // [count] blocks of the cache, each once
  void* cache = nullptr;               // [blocks][block_bytes]
  void* packed = nullptr;              // [count][block_bytes]
};

[[nodiscard]] Status validate(const AppendKv& op);
[[nodiscard]] Status validate(const CopyBlocks& op);
[[nodiscard]] Status validate(const GatherBlocks& op);

[[nodiscard]] Work work(const AppendKv& op);
[[nodiscard]] Work work(const CopyBlocks& op);
[[nodiscard]] Work work(const GatherBlocks& op);

// Fills [positions][rotary] with cos, then sin, of position · base^(−2i/rotary), i < rotary/2, computed in double.
void rope_table(std::int32_t positions, std::int32_t rotary, double base, float* cos_sin);

template <class Visit>
void for_each_buffer(AppendKv& op, Visit&& visit) {
  const std::int64_t token = op.kv.head_dim * std::int64_t{1};
  visit(Buffer{"cos_sin", Role::kInput, DType::kF32, std::int64_t{1} * op.max_position * op.rotary}, op.cos_sin);
  visit(Buffer{"positions", Role::kInput, DType::kI32, op.tokens}, op.positions);
  visit(Buffer{"slots", Role::kInput, DType::kI64, op.tokens}, op.slots);
  visit(Buffer{"queries", Role::kInOut, op.type, token * op.tokens * op.heads}, op.queries);
  visit(Buffer{"new_keys", Role::kInput, op.type, token * op.tokens * op.kv.kv_heads}, op.keys);
  visit(Buffer{"new_values", Role::kInput, op.type, token * op.tokens * op.kv.kv_heads}, op.values);
  for_each_buffer(op.kv, Role::kInOut, visit);
}

template <class Visit>
void for_each_buffer(CopyBlocks& op, Visit&& visit) {
  visit(Buffer{"from_to", Role::kInput, DType::kI32, std::int64_t{2} * op.pairs}, op.from_to);
  visit(Buffer{"cache", Role::kInOut, DType::kInt8, op.blocks * op.block_bytes}, op.cache);
}

template <class Visit>
void for_each_buffer(GatherBlocks& op, Visit&& visit) {
  visit(Buffer{"list", Role::kInput, DType::kI32, op.count}, op.list);
  visit(Buffer{"cache", op.scatter ? Role::kInOut : Role::kInput, DType::kInt8, op.blocks * op.block_bytes}, op.cache);
  visit(Buffer{"packed", op.scatter ? Role::kInput : Role::kOutput, DType::kInt8, op.count * op.block_bytes},
        op.packed);
}

}  // namespace servecast::kernels
