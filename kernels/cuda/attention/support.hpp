// What the launchers of attention share: what they refuse, and types from names.
#pragma once

#include <string>

#include "kernels/cuda/attention/paged_kv.cuh"
#include "kernels/cuda/common/operands.hpp"
#include "kernels/cuda/common/types.hpp"
#include "kernels/operators/attention.hpp"

namespace servecast::kernels::SERVECAST_DEVICE {

// Softmax in base 2 takes the score's scale into the exponent, where only a positive one keeps the order.
inline Status check_scale(float scale) {
  return scale > 0 ? Status() : Status::unsupported("attention on CUDA needs a positive scale of the scores");
}

inline Status check_page_size(int page_size) {
  if (page_size > 0 && (page_size & (page_size - 1)) == 0) return {};
  std::string message = "attention on CUDA needs a power of two as page size, not ";
  return Status::unsupported(message.append(std::to_string(page_size)));
}

inline Status check_paged_shape(const PagedKv& kv, float scale, const Target& target) {
  if (Status status = check_scale(scale); !status.ok()) return status;
  if (Status status = check_page_size(kv.page_size); !status.ok()) return status;
  if (kv.head_dim != 64 && kv.head_dim != 128 && kv.head_dim != 256) {
    std::string message = "attention on CUDA has head_dim 64, 128 and 256, not ";
    return Status::unsupported(message.append(std::to_string(kv.head_dim)));
  }
  if (kv.head_dim == 256 && target.architecture < 80) {
    return Status::unsupported("head_dim 256 needs sm_80 or later; sm_75 has 64 and 128");
  }
  return kv.type == DType::kFp8 ? lacks_fp8(target) : Status();
}

// What prefill and decode need of their shape, operands and the architecture, types aside.
template <class Op>
Status check_paged(const Op& op, const Target& target) {
  const Status status = check_paged_shape(op.kv, op.scale, target);
  return status.ok() ? check_aligned(op, {"queries", "keys", "values", "workspace", "out"}) : status;
}

inline int log2_of(int power) {
  int exponent = 0;
  while ((1 << exponent) < power) ++exponent;
  return exponent;
}

inline KvCache cache_of(const PagedKv& kv, const BlockTable& table) {
  return {kv.keys,     kv.values,   kv.key_scales, kv.value_scales,
          table.pages, table.width, kv.kv_heads,   log2_of(kv.page_size)};
}

// The one scale of an fp8 cache; other caches have none, or one a token.
inline float key_scale_of(const PagedKv& kv) { return kv.type == DType::kFp8 ? kv.key_scale : 1; }
inline float value_scale_of(const PagedKv& kv) { return kv.type == DType::kFp8 ? kv.value_scale : 1; }

// Calls call(Type<Element>, Type<Stored>) for queries of `type` over `kv`, whose own type validation has related to it.
template <class Call>
Status with_cache_types(DType type, const PagedKv& kv, const Target& target, Call&& call) {
  return with_half_type(type, target, [&](auto element) -> Status {
    switch (kv.type) {
      case DType::kFp8:
        return call(element, Type<Fp8>{});
      case DType::kInt8:
        return call(element, Type<std::int8_t>{});
      default:
        return call(element, element);
    }
  });
}

// Blocks that an SM holds by its shared memory; each takes 1 KB beside its own, and an SM has 1 KB more than a block
// may take. An upper bound on Turing, which reserves nothing.
inline std::int64_t blocks_per_processor(std::int64_t shared_bytes, const Target& target) {
  return (target.shared_memory_per_block + 1024) / (shared_bytes + 1024);
}

}  // namespace servecast::kernels::SERVECAST_DEVICE
