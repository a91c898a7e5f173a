// Which tile a decode runs with, and its launch.
#pragma once

#include <algorithm>
#include <type_traits>

#include "kernels/cuda/attention/decode.cuh"
#include "kernels/cuda/attention/decode.hpp"
#include "kernels/cuda/attention/support.hpp"

namespace servecast::kernels::SERVECAST_DEVICE {

// Decode waits for memory: what counts is bytes under way. A block has 32 to 64 KB of them, in at most 97 KB of shared
// memory, which every architecture from sm_80 on has, and sm_90 twice.
template <class Element, class Stored, int kHeadDim>
struct DecodeTiles {
  static constexpr bool kEightBits = sizeof(Stored) == 1;
  static constexpr int kKeys = kHeadDim == 256 ? 32 : 64;
  static constexpr int kStages = kEightBits || kHeadDim == 64 ? 4 : 3;
  using OnAmpere = DecodeShape<Element, Stored, Ampere, kHeadDim, kKeys, kStages>;
  // Plain copies gain nothing from being further ahead; 64 KB must hold it all.
  using OnTuring = DecodeShape<Element, Stored, Turing, kHeadDim, kHeadDim == 64 ? 64 : 32, 2>;
};

// The tiles, and at the end the results of the warps in their place.
template <class Shape>
constexpr std::int64_t decode_shared_bytes() {
  return std::max<std::int64_t>(KvPipeline<Shape>::kSharedBytes, kDecodeRows * Shape::kHeadDim * 4);
}

template <class Shape>
Status run_decode(const DecodeAttention& op, DeviceStream stream) {
  using Element = typename Shape::Element;
  const auto sequences = static_cast<std::int64_t>(op.sequences.size());
  const int rows = op.heads / op.kv.kv_heads * op.tokens;
  DecodeArguments<Element> args{};
  args.queries = static_cast<const Element*>(op.queries);
  args.out = static_cast<Element*>(op.out);
  args.partials = partials_of(op.workspace, sequences * op.tokens * op.heads, op.splits, op.kv.head_dim);
  args.contexts = op.contexts;
  args.ancestors = op.tree ? op.ancestors : nullptr;
  args.cache = cache_of(op.kv, op.table);
  args.heads = op.heads;
  args.tokens = op.tokens;
  args.window = op.window;
  args.row_groups = (rows + kDecodeRows - 1) / kDecodeRows;
  args.scale = op.scale * key_scale_of(op.kv) * kLog2E;
  args.value_scale = value_scale_of(op.kv);
  const std::int64_t blocks = sequences * op.kv.kv_heads * op.splits * args.row_groups;
  const Grid grid{dim3(static_cast<unsigned>(blocks)), dim3(Shape::kThreads), decode_shared_bytes<Shape>(), stream};
  return launch(decode_kernel<Shape>, grid, args);
}

template <int kHeadDim>
Status launch_decode(const DecodeAttention& op, const Target& target, DeviceStream stream) {
  return with_cache_types(op.type, op.kv, target, [&](auto element, auto stored) -> Status {
    using Element = typename decltype(element)::type;
    using Stored = typename decltype(stored)::type;
    using Tiles = DecodeTiles<Element, Stored, kHeadDim>;
    if (target.architecture >= 80) return run_decode<typename Tiles::OnAmpere>(op, stream);
    if constexpr (std::is_same_v<Element, F16> && !std::is_same_v<Stored, Fp8> && kHeadDim < 256) {
      return run_decode<typename Tiles::OnTuring>(op, stream);
    } else {
      return Status::unsupported("sm_75 has fp16 queries over caches of fp16 and int8");
    }
  });
}

}  // namespace servecast::kernels::SERVECAST_DEVICE
