// Launchers of what moves keys and values into, inside and out of the paged cache.
#include "kernels/cuda/common/move_rows.cuh"
#include "kernels/cuda/common/operands.hpp"
#include "kernels/cuda/common/types.hpp"
#include "kernels/cuda/kv_cache/append_kv.cuh"
#include "kernels/cuda/launchers.hpp"

namespace servecast::kernels::SERVECAST_DEVICE {
namespace {

// The widest access that all rows of the operation allow: head_dim and the halves that rotate begin on it.
template <class T, class C>
bool moves_wide(const AppendKv& op) {
  if (op.rotary / 2 % kWide != 0 || !aligned_rows<float>(op.cos_sin, op.rotary, kWide)) return false;
  for (const void* base : {static_cast<const void*>(op.queries), op.keys, op.values}) {
    if (!aligned_rows<T>(base, op.kv.head_dim, kWide)) return false;
  }
  return aligned_rows<C>(op.kv.keys, op.kv.head_dim, kWide) && aligned_rows<C>(op.kv.values, op.kv.head_dim, kWide);
}

template <class T, class C>
Status launch_append(const AppendKv& op, DeviceStream stream) {
  const NewTokens<T, C> tokens{op.cos_sin,
                               op.positions,
                               op.slots,
                               static_cast<T*>(op.queries),
                               static_cast<const T*>(op.keys),
                               static_cast<const T*>(op.values),
                               op.heads,
                               op.kv.kv_heads,
                               op.kv.head_dim,
                               op.rotary,
                               op.kv.page_size,
                               static_cast<C*>(op.kv.keys),
                               static_cast<C*>(op.kv.values),
                               op.kv.key_scales,
                               op.kv.value_scales,
                               op.kv.key_scale,
                               op.kv.value_scale};
  const std::int64_t groups = ceil_div(op.heads + std::int64_t{2} * op.kv.kv_heads, kHeadsPerBlock);
  if (Status status = check_blocks(groups, "heads"); !status.ok()) return status;
  const Grid grid{dim3(static_cast<unsigned>(op.tokens), static_cast<unsigned>(groups)), dim3(kAppendThreads), 0,
                  stream};
  return moves_wide<T, C>(op) ? launch(append_kv_kernel<T, C, kWide>, grid, tokens)
                              : launch(append_kv_kernel<T, C, 1>, grid, tokens);
}

}  // namespace

Status launch(const AppendKv& op, const Target& target, DeviceStream stream) {
  if (Status status = validate(op); !status.ok()) return status;
  if (op.kv.type == DType::kFp8) {
    if (Status status = lacks_fp8(target); !status.ok()) return status;
  }
  return with_half_type(op.type, target, [&](auto type) {
    using T = typename decltype(type)::type;
    if (op.kv.type == op.type) return launch_append<T, T>(op, stream);
    if (op.kv.type == DType::kFp8) return launch_append<T, Fp8>(op, stream);
    if (op.kv.type == DType::kInt8) return launch_append<T, std::int8_t>(op, stream);
    std::string message{name_of(op.kv.type)};
    message.append(" is no cache type for ")
        .append(name_of(op.type))
        .append(" keys: that type itself, fp8 and int8 are");
    return Status::unsupported(std::move(message));
  });
}

Status launch(const CopyBlocks& op, const Target& /*target*/, DeviceStream stream) {
  if (Status status = validate(op); !status.ok()) return status;
  if (Status status = check_aligned(op, {"cache"}); !status.ok()) return status;
  if (op.pairs == 0) return {};
  const RowMoves moves{op.from_to, op.from_to + 1, 2, op.block_bytes / 16};
  return move_rows<uint4>(op.cache, op.cache, op.pairs, moves, stream);
}

Status launch(const GatherBlocks& op, const Target& /*target*/, DeviceStream stream) {
  if (Status status = validate(op); !status.ok()) return status;
  if (Status status = check_aligned(op, {"cache", "packed"}); !status.ok()) return status;
  const std::int64_t units = op.block_bytes / 16;
  return op.scatter ? move_rows<uint4>(op.packed, op.cache, op.count, RowMoves{nullptr, op.list, 1, units}, stream)
                    : move_rows<uint4>(op.cache, op.packed, op.count, RowMoves{op.list, nullptr, 1, units}, stream);
}

}  // namespace servecast::kernels::SERVECAST_DEVICE
