// Attention of a few new tokens a sequence: decode, and verification of a draft. A block takes one head of the cache
// and one split of a sequence's keys. Its rows are the query heads that share the cache's head, times the new tokens,
// packed into 16-row tiles: keys and values are read once for all of them.
//
// Four warps share the tiles of rows; where there are fewer tiles than warps, they also share the keys, each with a
// softmax of its own, which are merged at the end.
#pragma once

#include <cstdint>

#include "kernels/cuda/attention/kv_pipeline.cuh"
#include "kernels/cuda/attention/partial.cuh"

namespace servecast::kernels::SERVECAST_DEVICE {

inline constexpr int kDecodeWarps = 4;
inline constexpr int kDecodeRows = kDecodeWarps * kFragmentRows;  // of a block
inline constexpr int kDecodeStep = 16;                            // keys that a warp takes at once

template <class ElementType, class StoredType, class IsaType, int kHead, int kKeysPerTile, int kStageCount>
struct DecodeShape {
  using Element = ElementType;
  using Stored = StoredType;
  using Isa = IsaType;
  static constexpr int kHeadDim = kHead;
  static constexpr int kThreads = kDecodeWarps * 32;
  static constexpr int kKeys = kKeysPerTile;
  static constexpr int kStages = kStageCount;
  static constexpr bool kValuesApart = true;
};

template <class Element>
struct DecodeArguments {
  const Element* queries;
  Element* out;  // splits = 1
  Partials partials;
  const std::int32_t* contexts;
  const std::uint64_t* ancestors;  // null: a chain
  KvCache cache;
  int heads;
  int tokens;
  int window;
  int row_groups;     // blocks that share the rows of one head
  float scale;        // of the scores, in base 2
  float value_scale;  // of the results
};

// What a block works on. Blocks that read the same keys are neighbours.
struct DecodeBlock {
  int sequence;
  int head;  // of the cache
  int split;
  int first_row;  // of the head's rows
  int rows;
  int group;  // query heads a head of the cache
  int context;

  // The token's and head's place in queries, as rows of head_dim elements.
  template <class Element>
  __device__ __forceinline__ std::int64_t query_row(const DecodeArguments<Element>& args, int row) const {
    const int token = (first_row + row) / group;
    const std::int64_t tokens = std::int64_t{1} * sequence * args.tokens + token;
    return tokens * args.heads + head * group + (first_row + row) % group;
  }
};

template <class Element>
__device__ DecodeBlock find_block(const DecodeArguments<Element>& args) {
  int index = static_cast<int>(blockIdx.x);
  const int row_group = index % args.row_groups;
  index /= args.row_groups;
  const int split = index % args.partials.splits;
  index /= args.partials.splits;
  const int head = index % args.cache.heads;
  const int sequence = index / args.cache.heads;
  const int group = args.heads / args.cache.heads;
  const int first_row = row_group * kDecodeRows;
  const int rows = min(group * args.tokens - first_row, kDecodeRows);
  return {sequence, head, split, first_row, rows, group, args.contexts[sequence]};
}

// Which keys a row sees: of the context those from `oldest` on, of the new tokens those in `seen`.
struct KeyMask {
  std::uint64_t seen;
  int oldest;
  int context;

  __device__ __forceinline__ bool sees(int key) const {
    const int token = key - context;
    return token < 0 ? key >= oldest : token < 64 && ((seen >> token) & 1) != 0;
  }
};

template <class Element>
__device__ KeyMask mask_of(const DecodeArguments<Element>& args, int token, int context) {
  constexpr std::uint64_t kAll = ~std::uint64_t{0};
  const std::uint64_t seen =
      args.ancestors != nullptr ? args.ancestors[token] & (kAll >> (64 - args.tokens)) : kAll >> (63 - token);
  return {seen, args.window > 0 ? context + __popcll(seen) - args.window : 0, context};
}

// A warp's rows: their queries as left operands, what they see, and their share of the results.
template <class Shape>
struct DecodeRows {
  std::uint32_t queries[Shape::kHeadDim / kFragmentDepth][4];
  float out[Shape::kHeadDim / 8][4];
  SoftmaxRows softmax;
  KeyMask masks[2];
};

// Rows behind the last one repeat it; nobody reads their results.
template <class Shape>
__device__ void start_rows(const DecodeArguments<typename Shape::Element>& args, const DecodeBlock& block,
                           int first_row, DecodeRows<Shape>& rows) {
  clear(rows.out);
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int row = min(first_row + r * 8 + lane_index() / 4, block.rows - 1);
    rows.masks[r] = mask_of(args, (block.first_row + row) / block.group, block.context);
    const auto* from = args.queries + block.query_row(args, row) * Shape::kHeadDim + lane_index() % 4 * 2;
#pragma unroll
    for (int depth = 0; depth < Shape::kHeadDim / kFragmentDepth; ++depth) {
      rows.queries[depth][r] = *reinterpret_cast<const std::uint32_t*>(from + depth * kFragmentDepth);
      rows.queries[depth][r + 2] = *reinterpret_cast<const std::uint32_t*>(from + depth * kFragmentDepth + 8);
    }
  }
}

// Attends to 16 keys: rows `row` … of the tile, at position `key` …
template <class Shape>
__device__ __forceinline__ void attend(DecodeRows<Shape>& rows, const typename KvPipeline<Shape>::Tile& tile, int row,
                                       int key, bool masked, float scale) {
  using Element = typename Shape::Element;
  const auto keys = column_fragments_of<Shape::kHeadDim>(tile.keys);
  const auto values = fragments_of<Shape::kHeadDim>(tile.values);
  float scores[2][4];
  clear(scores);
#pragma unroll
  for (int depth = 0; depth < Shape::kHeadDim / kFragmentDepth; ++depth) {
    std::uint32_t b[4];
    ldmatrix_x4(b, keys.at(row, depth * kFragmentDepth));
    Shape::Isa::template multiply<Element>(scores[0], rows.queries[depth], b[0], b[1]);
    Shape::Isa::template multiply<Element>(scores[1], rows.queries[depth], b[2], b[3]);
  }
  if constexpr (KvPipeline<Shape>::kScales) scale_columns(scores, tile.key_scales + row);
  if (masked) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const int column = key + i / 4 * 8 + lane_index() % 4 * 2 + i % 2;
      if (!rows.masks[i / 2 % 2].sees(column)) scores[i / 4][i % 4] = -INFINITY;
    }
  }
  float rescale[2];
  online_softmax(scores, scale, rows.softmax, rescale);
  rescale_rows(rows.out, rescale);
  std::uint32_t a[4];
  as_left<Element>(a, scores[0], scores[1]);
#pragma unroll
  for (int n = 0; n < Shape::kHeadDim / 16; ++n) {
    std::uint32_t b[4];
    ldmatrix_x4_trans(b, values.at(row, n * 16));
    Shape::Isa::template multiply<Element>(rows.out[2 * n], a, b[0], b[1]);
    Shape::Isa::template multiply<Element>(rows.out[2 * n + 1], a, b[2], b[3]);
  }
}

// Results of all warps in shared memory, each 16 rows of kWidth floats; columns are swizzled by eights, so that the
// rows of a fragment do not meet in the same banks.
template <int kWidth>
struct WarpResults {
  float* sums;
  float2* softmax;  // [warps][16]: largest score in base 2, sum

  __device__ __forceinline__ float* at(int warp, int row, int column) const {
    return sums + (warp * kFragmentRows + row) * kWidth + (column ^ ((row & 3) * 8));
  }
};

template <class Shape>
__device__ void keep_results(const DecodeRows<Shape>& rows, float scale, const WarpResults<Shape::kHeadDim>& results) {
  const int warp = warp_index();
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int row = lane_index() / 4 + r * 8;
    const float sum = quad_reduce(rows.softmax.sum[r], Plus{});
    if (lane_index() % 4 == 0) {
      results.softmax[warp * kFragmentRows + row] = make_float2(rows.softmax.largest[r] * scale, sum);
    }
#pragma unroll
    for (int n = 0; n < Shape::kHeadDim / 8; ++n) {
      *reinterpret_cast<float2*>(results.at(warp, row, n * 8 + lane_index() % 4 * 2)) =
          make_float2(rows.out[n][2 * r], rows.out[n][2 * r + 1]);
    }
  }
}

// Merges the warps that shared a row's keys (every row_warps-th from the row's own on) and writes the block's rows,
// four elements a thread.
template <class Shape>
__device__ void write_results(const DecodeArguments<typename Shape::Element>& args, const DecodeBlock& block,
                              int row_warps, const WarpResults<Shape::kHeadDim>& results) {
  constexpr int kWidth = Shape::kHeadDim;
  for (int i = thread_index(); i < block.rows * (kWidth / 4); i += Shape::kThreads) {
    const int row = i / (kWidth / 4);
    const int column = i % (kWidth / 4) * 4;
    const int in_tile = row % kFragmentRows;
    float largest = -INFINITY;
    for (int w = row / kFragmentRows; w < kDecodeWarps; w += row_warps) {
      largest = fmaxf(largest, results.softmax[w * kFragmentRows + in_tile].x);
    }
    const float base = softmax_base(largest, 1);
    float4 sums = make_float4(0, 0, 0, 0);
    float total = 0;
    for (int w = row / kFragmentRows; w < kDecodeWarps; w += row_warps) {
      const float2 softmax = results.softmax[w * kFragmentRows + in_tile];
      const float factor = fast_exp2(softmax.x - base);
      const float4 part = *reinterpret_cast<const float4*>(results.at(w, in_tile, column));
      total += factor * softmax.y;
      sums = make_float4(sums.x + factor * part.x, sums.y + factor * part.y, sums.z + factor * part.z,
                         sums.w + factor * part.w);
    }
    const std::int64_t to = block.query_row(args, row);
    const float factor = args.partials.splits == 1 ? args.value_scale / total : args.value_scale;
    sums = make_float4(sums.x * factor, sums.y * factor, sums.z * factor, sums.w * factor);
    if (args.partials.splits == 1) {
      *reinterpret_cast<uint2*>(args.out + to * kWidth + column) =
          make_uint2(pack2<typename Shape::Element>(sums.x, sums.y), pack2<typename Shape::Element>(sums.z, sums.w));
      continue;
    }
    const std::int64_t part = to * args.partials.splits + block.split;
    *reinterpret_cast<float4*>(args.partials.sums + part * kWidth + column) = sums;
    if (column == 0) args.partials.softmax[part] = make_float2(largest, total);
  }
}

// sequences × heads of the cache × splits × row groups blocks.
template <class Shape>
__global__ void __launch_bounds__(Shape::kThreads) decode_kernel(DecodeArguments<typename Shape::Element> args) {
  if constexpr (Shape::Isa::kCompiled) {
    __shared__ float2 warp_softmax[kDecodeRows];
    const DecodeBlock block = find_block(args);
    // No row looks back further than the first token's window.
    const int oldest = args.window > 0 ? max(block.context + 1 - args.window, 0) : 0;
    const KeyRange range =
        split_keys({oldest, block.context + args.tokens}, Shape::kKeys, block.split, args.partials.splits);
    auto* shared = dynamic_shared<unsigned char>();
    KvPipeline<Shape> pipeline(args.cache, PagedRows(args.cache, block.sequence, block.head), range, shared);
    pipeline.start();

    const int row_tiles = (block.rows + kFragmentRows - 1) / kFragmentRows;
    const int row_warps = row_tiles <= 2 ? row_tiles : kDecodeWarps;
    const int row_tile = warp_index() % row_warps;
    const int first_step = warp_index() / row_warps * kDecodeStep;
    const int stride = kDecodeWarps / row_warps * kDecodeStep;
    DecodeRows<Shape> rows;
    start_rows(args, block, row_tile * kFragmentRows, rows);
    // Keys from `context` on, and those that some token's window has left, need a look at the masks.
    const int window_end = args.window > 0 ? block.context + args.tokens - args.window : 0;

    for (int tile = range.first / Shape::kKeys; tile * Shape::kKeys < range.last; ++tile) {
      const auto kv = pipeline.next();
      if (row_tile >= row_tiles) continue;
      for (int step = first_step; step < Shape::kKeys; step += stride) {
        const int key = tile * Shape::kKeys + step;
        if (key >= range.last) break;
        const bool masked = key + kDecodeStep > block.context || key < window_end;
        attend(rows, kv, step, key, masked, args.scale);
      }
    }

    __syncthreads();  // the tiles are done with; the results take their place
    const WarpResults<Shape::kHeadDim> results{reinterpret_cast<float*>(shared), warp_softmax};
    keep_results(rows, args.scale, results);
    __syncthreads();
    write_results<Shape>(args, block, row_warps, results);
  }
}

}  // namespace servecast::kernels::SERVECAST_DEVICE
