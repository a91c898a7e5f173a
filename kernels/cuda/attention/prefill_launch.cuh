// Which tile a prefill runs with, and its launch.
#pragma once

#include <type_traits>

#include "kernels/cuda/attention/prefill.cuh"
#include "kernels/cuda/attention/prefill.hpp"
#include "kernels/cuda/attention/support.hpp"

namespace servecast::kernels::SERVECAST_DEVICE {

// Wide tiles use what they copy most often; narrow ones need less shared memory. Bytes for two-byte caches.
template <class Element, class Stored, int kHeadDim>
struct PrefillTiles;

template <class Element, class Stored>
struct PrefillTiles<Element, Stored, 64> {
  using Wide = PrefillShape<Element, Stored, Ampere, 64, 4, 2, 64, 64>;  // 48 KB
  using Narrow = Wide;
  using OnTuring = PrefillShape<Element, Stored, Turing, 64, 4, 2, 64, 64>;  // 48 KB of 64
};

template <class Element, class Stored>
struct PrefillTiles<Element, Stored, 128> {
  using Wide = PrefillShape<Element, Stored, Ampere, 128, 4, 2, 64, 32>;      // 96 KB
  using Narrow = PrefillShape<Element, Stored, Ampere, 128, 4, 2, 32, 32>;    // 64 KB
  using OnTuring = PrefillShape<Element, Stored, Turing, 128, 4, 1, 32, 32>;  // 48 KB of 64
};

template <class Element, class Stored>
struct PrefillTiles<Element, Stored, 256> {
  using Wide = PrefillShape<Element, Stored, Ampere, 256, 8, 1, 32, 32>;    // 128 KB
  using Narrow = PrefillShape<Element, Stored, Ampere, 256, 4, 1, 32, 32>;  // 96 KB
};

template <class Shape>
constexpr std::int64_t prefill_shared_bytes() {
  return Shape::kQueryBytes + KvPipeline<Shape>::kSharedBytes;
}

template <class Shape>
Status run_prefill(const PrefillAttention& op, DeviceStream stream) {
  using Element = typename Shape::Element;
  PrefillArguments<Element> args{};
  args.queries = static_cast<const Element*>(op.queries);
  args.out = static_cast<Element*>(op.out);
  args.query_starts = op.query_starts;
  args.contexts = op.contexts;
  args.cache = cache_of(op.kv, op.table);
  args.sequences = static_cast<int>(op.sequences.size());
  args.heads = op.heads;
  args.window = op.window;
  args.scale = op.scale * key_scale_of(op.kv) * kLog2E;
  args.value_scale = value_scale_of(op.kv);
  const std::int64_t tiles = op.tokens() / Shape::kRows + args.sequences;  // see find_rows
  const Grid grid{dim3(static_cast<unsigned>(tiles * op.heads)), dim3(Shape::kThreads), prefill_shared_bytes<Shape>(),
                  stream};
  return launch(prefill_kernel<Shape>, grid, args);
}

// The wide tile where the architecture has room for it, unless only the narrow one leaves room for a second block: with
// four warps in a block, a second block is what fills the waits of the first (head 128 on sm_80).
template <class Wide, class Narrow>
Status run_prefill_that_fits(const PrefillAttention& op, const Target& target, DeviceStream stream) {
  const std::int64_t wide_blocks = blocks_per_processor(prefill_shared_bytes<Wide>(), target);
  const std::int64_t narrow_blocks = blocks_per_processor(prefill_shared_bytes<Narrow>(), target);
  constexpr bool kFewWarps = Wide::kThreads <= 128;
  const bool narrow = wide_blocks == 0 || (kFewWarps && wide_blocks == 1 && narrow_blocks > 1);
  return narrow ? run_prefill<Narrow>(op, stream) : run_prefill<Wide>(op, stream);
}

template <int kHeadDim>
Status launch_prefill(const PrefillAttention& op, const Target& target, DeviceStream stream) {
  return with_cache_types(op.type, op.kv, target, [&](auto element, auto stored) -> Status {
    using Element = typename decltype(element)::type;
    using Stored = typename decltype(stored)::type;
    using Tiles = PrefillTiles<Element, Stored, kHeadDim>;
    if (target.architecture >= 80) {
      return run_prefill_that_fits<typename Tiles::Wide, typename Tiles::Narrow>(op, target, stream);
    }
    if constexpr (std::is_same_v<Element, F16> && !std::is_same_v<Stored, Fp8> && kHeadDim < 256) {
      return run_prefill<typename Tiles::OnTuring>(op, stream);
    } else {
      return Status::unsupported("sm_75 has fp16 queries over caches of fp16 and int8");
    }
  });
}

}  // namespace servecast::kernels::SERVECAST_DEVICE
