// Attention of whole or chunked prompts, the flash way: a block takes kRows queries of one head, walks over the keys
// they see tile by tile and keeps nothing but a running softmax.
//
// Each warp owns kRowTiles · 16 query rows. Two row tiles a warp use each fragment of keys and values twice, which
// halves what the tensor cores ask of shared memory.
#pragma once

#include <cstdint>

#include "kernels/cuda/attention/kv_pipeline.cuh"
#include "kernels/cuda/attention/softmax.cuh"

namespace servecast::kernels::SERVECAST_DEVICE {

// kStep: keys that a warp scores at once, a part of the kKeys that come in one tile. Fewer take fewer registers.
template <class ElementType, class StoredType, class IsaType, int kHead, int kWarpCount, int kRowTilesPerWarp,
          int kKeysPerTile, int kKeysPerStep>
struct PrefillShape {
  using Element = ElementType;
  using Stored = StoredType;
  using Isa = IsaType;
  static constexpr int kHeadDim = kHead;
  static constexpr int kThreads = kWarpCount * 32;
  static constexpr int kRowTiles = kRowTilesPerWarp;
  static constexpr int kWarpRows = kRowTiles * kFragmentRows;
  static constexpr int kRows = kWarpCount * kWarpRows;
  static constexpr int kKeys = kKeysPerTile;
  static constexpr int kStep = kKeysPerStep;
  static constexpr int kStages = 2;
  static constexpr bool kValuesApart = true;
  // A thread has 255 registers. Where results, scores and queries leave some 45 of them, queries are read from shared
  // memory once and not for every tile.
  static constexpr bool kHoldsQueries = kRowTiles * (kHeadDim / 2 + kStep / 2 + kHeadDim / 4) <= 208;
  static constexpr int kQueryBytes = kRows * kHeadDim * 2;
};

template <class Element>
struct PrefillArguments {
  const Element* queries;
  Element* out;
  const std::int32_t* query_starts;
  const std::int32_t* contexts;
  KvCache cache;
  int sequences;
  int heads;
  int window;
  float scale;        // of the scores, in base 2
  float value_scale;  // of the results
};

// A block's queries: rows first … first + rows − 1 of a sequence.
struct QueryRows {
  int sequence;
  int first;
  int rows;  // may be none
  int context;
  std::int64_t token;  // of row `first`, counted through the batch
};

// Sequence i has its row tiles from number ⌊start_i / kRows⌋ + i on. That gives every sequence as many as it needs,
// and one too many at most, without a list of tiles: blocks search in query_starts.
template <int kRows, class Element>
__device__ QueryRows find_rows(const PrefillArguments<Element>& args, int tile) {
  int sequence = 0;
  for (int end = args.sequences; end - sequence > 1;) {
    const int middle = (sequence + end) / 2;
    if (args.query_starts[middle] / kRows + middle <= tile) sequence = middle;
    else end = middle;
  }
  const int start = args.query_starts[sequence];
  const int first = (tile - start / kRows - sequence) * kRows;
  const int rows = min(args.query_starts[sequence + 1] - start - first, kRows);
  return {sequence, first, rows, args.contexts[sequence], std::int64_t{1} * start + first};
}

// What a warp's rows see: their positions and those just out of the window.
struct CausalBand {
  int position;  // of the warp's first row
  int rows;
  int window;  // 0: none

  __device__ bool sees(int first_key, int keys) const {
    return first_key < position + rows && (window == 0 || first_key + keys - 1 > position - window);
  }
  __device__ bool sees_all(int first_key, int keys) const {
    return first_key + keys - 1 <= position && (window == 0 || first_key > position + rows - 1 - window);
  }
  __device__ __forceinline__ bool sees_key(int row, int key) const {
    return key <= position + row && (window == 0 || key > position + row - window);
  }
};

template <class Shape>
__device__ void load_query_tile(const PrefillArguments<typename Shape::Element>& args, const QueryRows& block, int head,
                                typename Shape::Element* to) {
  constexpr int kRowChunks = Shape::kHeadDim / kChunk;
  for (int i = thread_index(); i < Shape::kRows * kRowChunks; i += Shape::kThreads) {
    const int row = i / kRowChunks;
    const int chunk = i % kRowChunks;
    const std::int64_t token = block.token + (row < block.rows ? row : 0);
    const auto* from = args.queries + (token * args.heads + head) * Shape::kHeadDim + chunk * kChunk;
    Shape::Isa::copy16(to + swizzled<Shape::kHeadDim>(row, chunk), from, row < block.rows);
  }
}

// A warp's queries as left operands.
template <class Shape>
class WarpQueries {
  static constexpr int kDepths = Shape::kHeadDim / kFragmentDepth;

 public:
  __device__ explicit WarpQueries(const typename Shape::Element* rows) : rows_(fragments_of<Shape::kHeadDim>(rows)) {}

  // Once, when the queries have come.
  __device__ __forceinline__ void hold() {
    if constexpr (Shape::kHoldsQueries) {
#pragma unroll
      for (int depth = 0; depth < kDepths; ++depth) {
#pragma unroll
        for (int m = 0; m < Shape::kRowTiles; ++m) load(held_[depth][m], depth, m);
      }
    }
  }
  __device__ __forceinline__ void get(std::uint32_t (&a)[4], int depth, int m) const {
    if constexpr (Shape::kHoldsQueries) {
#pragma unroll
      for (int i = 0; i < 4; ++i) a[i] = held_[depth][m][i];
    } else {
      load(a, depth, m);
    }
  }

 private:
  __device__ __forceinline__ void load(std::uint32_t (&a)[4], int depth, int m) const {
    ldmatrix_x4(a, rows_.at(m * kFragmentRows, depth * kFragmentDepth));
  }

  FragmentPlaces<Shape::kHeadDim, typename Shape::Element> rows_;
  std::uint32_t held_[Shape::kHoldsQueries ? kDepths : 1][Shape::kRowTiles][4];
};

// A warp's share of the results, and the scores of one step.
template <class Shape>
struct PrefillState {
  SoftmaxRows softmax[Shape::kRowTiles];
  float out[Shape::kRowTiles][Shape::kHeadDim / 8][4];
  float scores[Shape::kRowTiles][Shape::kStep / 8][4];
};

template <class Shape>
__device__ __forceinline__ void score_keys(PrefillState<Shape>& state, const WarpQueries<Shape>& queries,
                                           const typename Shape::Element* keys, int first) {
  const auto places = column_fragments_of<Shape::kHeadDim>(keys);
#pragma unroll
  for (int m = 0; m < Shape::kRowTiles; ++m) clear(state.scores[m]);
#pragma unroll
  for (int depth = 0; depth < Shape::kHeadDim / kFragmentDepth; ++depth) {
    std::uint32_t a[Shape::kRowTiles][4];
#pragma unroll
    for (int m = 0; m < Shape::kRowTiles; ++m) queries.get(a[m], depth, m);
#pragma unroll
    for (int n = 0; n < Shape::kStep / 16; ++n) {
      std::uint32_t b[4];
      ldmatrix_x4(b, places.at(first + n * 16, depth * kFragmentDepth));
#pragma unroll
      for (int m = 0; m < Shape::kRowTiles; ++m) {
        Shape::Isa::template multiply<typename Shape::Element>(state.scores[m][2 * n], a[m], b[0], b[1]);
        Shape::Isa::template multiply<typename Shape::Element>(state.scores[m][2 * n + 1], a[m], b[2], b[3]);
      }
    }
  }
}

template <class Shape>
__device__ __forceinline__ void mask_scores(PrefillState<Shape>& state, const CausalBand& band, int first_key) {
  const int lane_row = lane_index() / 4;
  const int lane_key = first_key + lane_index() % 4 * 2;
#pragma unroll
  for (int m = 0; m < Shape::kRowTiles; ++m) {
#pragma unroll
    for (int n = 0; n < Shape::kStep / 8; ++n) {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const int row = m * kFragmentRows + j / 2 * 8 + lane_row;
        if (!band.sees_key(row, lane_key + n * 8 + j % 2)) state.scores[m][n][j] = -INFINITY;
      }
    }
  }
}

template <class Shape>
__device__ __forceinline__ void add_values(PrefillState<Shape>& state, const typename Shape::Element* values,
                                           int first) {
  using Element = typename Shape::Element;
  const auto places = fragments_of<Shape::kHeadDim>(values);
#pragma unroll
  for (int depth = 0; depth < Shape::kStep / kFragmentDepth; ++depth) {
    std::uint32_t a[Shape::kRowTiles][4];
#pragma unroll
    for (int m = 0; m < Shape::kRowTiles; ++m) {
      as_left<Element>(a[m], state.scores[m][2 * depth], state.scores[m][2 * depth + 1]);
    }
#pragma unroll
    for (int n = 0; n < Shape::kHeadDim / 16; ++n) {
      std::uint32_t b[4];
      ldmatrix_x4_trans(b, places.at(first + depth * kFragmentDepth, n * 16));
#pragma unroll
      for (int m = 0; m < Shape::kRowTiles; ++m) {
        Shape::Isa::template multiply<Element>(state.out[m][2 * n], a[m], b[0], b[1]);
        Shape::Isa::template multiply<Element>(state.out[m][2 * n + 1], a[m], b[2], b[3]);
      }
    }
  }
}

// The keys from row `first` of a tile on, whose position is `key`.
template <class Shape>
__device__ __forceinline__ void attend(PrefillState<Shape>& state, const WarpQueries<Shape>& queries,
                                       const typename KvPipeline<Shape>::Tile& tile, const CausalBand& band, int first,
                                       int key, float scale) {
  score_keys<Shape>(state, queries, tile.keys, first);
  if constexpr (KvPipeline<Shape>::kScales) {
#pragma unroll
    for (int m = 0; m < Shape::kRowTiles; ++m) scale_columns(state.scores[m], tile.key_scales + first);
  }
  if (!band.sees_all(key, Shape::kStep)) mask_scores<Shape>(state, band, key);
#pragma unroll
  for (int m = 0; m < Shape::kRowTiles; ++m) {
    float rescale[2];
    online_softmax(state.scores[m], scale, state.softmax[m], rescale);
    rescale_rows(state.out[m], rescale);
  }
  add_values<Shape>(state, tile.values, first);
}

// Writes a warp's rows, through the shared memory that held its queries: 16 bytes a thread, whole rows a warp.
template <class Shape>
__device__ void store_rows(PrefillState<Shape>& state, float value_scale, typename Shape::Element* shared,
                           typename Shape::Element* out, std::int64_t row_stride, int rows) {
  using Element = typename Shape::Element;
  const int lane = lane_index();
  __syncwarp();  // no lane reads queries any longer
#pragma unroll
  for (int m = 0; m < Shape::kRowTiles; ++m) {
    float factors[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) factors[r] = value_scale / quad_reduce(state.softmax[m].sum[r], Plus{});
    scale_rows(state.out[m], factors);
#pragma unroll
    for (int n = 0; n < Shape::kHeadDim / 8; ++n) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const int at = swizzled<Shape::kHeadDim>(m * kFragmentRows + r * 8 + lane / 4, n) + lane % 4 * 2;
        *reinterpret_cast<std::uint32_t*>(shared + at) =
            pack2<Element>(state.out[m][n][2 * r], state.out[m][n][2 * r + 1]);
      }
    }
  }
  __syncwarp();
  constexpr int kRowChunks = Shape::kHeadDim / kChunk;
  for (int i = lane; i < min(rows, Shape::kWarpRows) * kRowChunks; i += 32) {
    const int row = i / kRowChunks;
    const int chunk = i % kRowChunks;
    *reinterpret_cast<uint4*>(out + row * row_stride + chunk * kChunk) =
        *reinterpret_cast<const uint4*>(shared + swizzled<Shape::kHeadDim>(row, chunk));
  }
}

// Row tiles times heads blocks, the last rows first: they see the most keys.
template <class Shape>
__global__ void __launch_bounds__(Shape::kThreads) prefill_kernel(PrefillArguments<typename Shape::Element> args) {
  if constexpr (Shape::Isa::kCompiled) {
    const int head = static_cast<int>(blockIdx.x) % args.heads;
    const QueryRows block = find_rows<Shape::kRows>(args, static_cast<int>(gridDim.x - 1 - blockIdx.x) / args.heads);
    if (block.rows <= 0) return;
    const int position = block.context + block.first;
    const int first_key = args.window > 0 ? max(position - args.window + 1, 0) : 0;
    const KeyRange range{first_key, position + block.rows};

    auto* shared = dynamic_shared<typename Shape::Element>();
    load_query_tile<Shape>(args, block, head, shared);
    KvPipeline<Shape> pipeline(args.cache,
                               PagedRows(args.cache, block.sequence, head / (args.heads / args.cache.heads)), range,
                               reinterpret_cast<unsigned char*>(shared) + Shape::kQueryBytes);
    pipeline.start();

    const int warp_row = warp_index() * Shape::kWarpRows;
    const int warp_rows = block.rows - warp_row;  // none or fewer: the warp only helps to copy
    auto* warp_shared = shared + warp_row * Shape::kHeadDim;
    const CausalBand band{position + warp_row, Shape::kWarpRows, args.window};
    WarpQueries<Shape> queries(warp_shared);
    PrefillState<Shape> state;
#pragma unroll
    for (int m = 0; m < Shape::kRowTiles; ++m) clear(state.out[m]);

    const int first_tile = first_key / Shape::kKeys;
    for (int tile = first_tile; tile * Shape::kKeys < range.last; ++tile) {
      const auto kv = pipeline.next();
      if (tile == first_tile) queries.hold();
      if (warp_rows <= 0) continue;
#pragma unroll 1
      for (int first = 0; first < Shape::kKeys; first += Shape::kStep) {
        const int key = tile * Shape::kKeys + first;
        if (band.sees(key, Shape::kStep)) attend(state, queries, kv, band, first, key, args.scale);
      }
    }
    if (warp_rows <= 0) return;
    auto* out = args.out + ((block.token + warp_row) * args.heads + head) * Shape::kHeadDim;
    store_rows<Shape>(state, args.value_scale, warp_shared, out, std::int64_t{args.heads} * Shape::kHeadDim, warp_rows);
  }
}

}  // namespace servecast::kernels::SERVECAST_DEVICE
