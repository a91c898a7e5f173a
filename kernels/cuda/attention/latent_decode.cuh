// Decode with multi-head latent attention, weights absorbed: every head reads the same cached vectors of kLatentWidth
// elements, scores with all of them and sums up the first kLatentValues.
//
// A block takes kRows of a sequence's rows (token · heads + head) and one split of its keys. Results of a row are too
// wide for a warp's registers, so each warp sums up its own columns for all rows of the block; scores are shared out by
// rows and keys, and pass from warp to warp as probabilities in shared memory.
#pragma once

#include <cstdint>

#include "kernels/cuda/attention/kv_pipeline.cuh"
#include "kernels/cuda/attention/partial.cuh"

namespace servecast::kernels::SERVECAST_DEVICE {

inline constexpr int kLatentValues = 512;
inline constexpr int kLatentRope = 64;
inline constexpr int kLatentWidth = kLatentValues + kLatentRope;
inline constexpr int kLatentKeys = 32;  // of a tile

template <class ElementType, int kRowTileCount, int kWarpCount>
struct LatentShape {
  using Element = ElementType;
  using Stored = ElementType;
  using Isa = Ampere;
  static constexpr int kHeadDim = kLatentWidth;
  static constexpr int kKeys = kLatentKeys;
  static constexpr int kStages = 2;
  static constexpr bool kValuesApart = false;
  static constexpr int kThreads = kWarpCount * 32;
  static constexpr int kRowTiles = kRowTileCount;
  static constexpr int kRows = kRowTiles * kFragmentRows;
  // Scores: warp w has row tile w mod kRowTiles and one of kKeyParts parts of the keys. Results: all rows, some
  // columns.
  static constexpr int kKeyParts = kWarpCount / kRowTiles;
  static constexpr int kPartKeys = kKeys / kKeyParts;
  static constexpr int kColumns = kLatentValues / kWarpCount;
  static_assert(kPartKeys % 8 == 0 && kColumns % 16 == 0, "warps own whole fragments");
};

template <class Element>
struct LatentArguments {
  const Element* queries;
  Element* out;  // splits = 1
  Partials partials;
  const std::int32_t* contexts;
  KvCache cache;
  int heads;
  int tokens;
  int row_groups;  // blocks that share a sequence's rows
  float scale;     // of the scores, in base 2
};

// What warps tell each other, beside the probabilities.
template <class Shape>
struct LatentExchange {
  float largest[Shape::kKeyParts][Shape::kRows];  // of a tile, by part of the keys
  float sum[Shape::kKeyParts][Shape::kRows];      // of all keys, at the end
  float rescale[Shape::kRows];
  float2 softmax[Shape::kRows];  // at the end: largest score in base 2, sum
};

template <class Shape>
struct LatentShared {
  using Element = typename Shape::Element;
  static constexpr std::int64_t kQueryBytes = Shape::kRows * kLatentWidth * 2;
  static constexpr std::int64_t kProbabilityBytes = Shape::kRows * Shape::kKeys * 2;
  static constexpr std::int64_t kBytes = kQueryBytes + KvPipeline<Shape>::kSharedBytes + kProbabilityBytes +
                                         static_cast<std::int64_t>(sizeof(LatentExchange<Shape>));

  Element* queries;
  unsigned char* tiles;
  Element* probabilities;
  LatentExchange<Shape>* exchange;

  __device__ explicit LatentShared(unsigned char* shared)
      : queries(reinterpret_cast<Element*>(shared)),
        tiles(shared + kQueryBytes),
        probabilities(reinterpret_cast<Element*>(tiles + KvPipeline<Shape>::kSharedBytes)),
        exchange(
            reinterpret_cast<LatentExchange<Shape>*>(tiles + KvPipeline<Shape>::kSharedBytes + kProbabilityBytes)) {}
};

// A warp's part in the scores: one row tile, kPartKeys keys of every tile.
template <class Shape>
struct LatentScores {
  int first_row;  // of the block's rows
  int first_key;  // of the tile's keys
  int seen[2];    // keys that the lane's rows see
  SoftmaxRows softmax;
  float scores[Shape::kPartKeys / 8][4];
};

template <class Shape>
__device__ void load_latent_queries(const typename Shape::Element* from, int rows, typename Shape::Element* to) {
  constexpr int kRowChunks = kLatentWidth / kChunk;
  for (int i = thread_index(); i < Shape::kRows * kRowChunks; i += Shape::kThreads) {
    const int row = i / kRowChunks;
    const int chunk = i % kRowChunks;
    const bool reads = row < rows;
    Shape::Isa::copy16(to + swizzled<kLatentWidth>(row, chunk), from + (reads ? i * kChunk : 0), reads);
  }
}

// Eight keys at a time, so that parts may be as small; their fragments go 32 elements deep.
template <class Shape>
__device__ __forceinline__ void score_latents(LatentScores<Shape>& state, const typename Shape::Element* queries,
                                              const typename Shape::Element* keys) {
  using Element = typename Shape::Element;
  const auto left = fragments_of<kLatentWidth>(queries);
  const FragmentPlaces<kLatentWidth, Element> right(keys, lane_index() & 7, lane_index() >> 3);
  clear(state.scores);
#pragma unroll
  for (int depth = 0; depth < kLatentWidth; depth += 2 * kFragmentDepth) {
    std::uint32_t a[2][4];
    ldmatrix_x4(a[0], left.at(state.first_row, depth));
    ldmatrix_x4(a[1], left.at(state.first_row, depth + kFragmentDepth));
#pragma unroll
    for (int n = 0; n < Shape::kPartKeys / 8; ++n) {
      std::uint32_t b[4];
      ldmatrix_x4(b, right.at(state.first_key + n * 8, depth));
      Shape::Isa::template multiply<Element>(state.scores[n], a[0], b[0], b[1]);
      Shape::Isa::template multiply<Element>(state.scores[n], a[1], b[2], b[3]);
    }
  }
}

template <class Shape>
__device__ __forceinline__ void mask_latents(LatentScores<Shape>& state, int tile_key) {
#pragma unroll
  for (int n = 0; n < Shape::kPartKeys / 8; ++n) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const int key = tile_key + state.first_key + n * 8 + lane_index() % 4 * 2 + j % 2;
      if (key >= state.seen[j / 2]) state.scores[n][j] = -INFINITY;
    }
  }
}

template <class Shape>
__device__ __forceinline__ void tell_largest(const LatentScores<Shape>& state, LatentExchange<Shape>& exchange) {
  const int part = warp_index() / Shape::kRowTiles;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float largest = -INFINITY;
#pragma unroll
    for (int n = 0; n < Shape::kPartKeys / 8; ++n) {
      largest = fmaxf(largest, fmaxf(state.scores[n][2 * r], state.scores[n][2 * r + 1]));
    }
    largest = quad_reduce(largest, Larger{});
    if (lane_index() % 4 == 0) exchange.largest[part][state.first_row + r * 8 + lane_index() / 4] = largest;
  }
}

// online_softmax, with the largest score taken over all parts of the keys.
template <class Shape>
__device__ __forceinline__ void write_probabilities(LatentScores<Shape>& state, float scale,
                                                    LatentExchange<Shape>& exchange,
                                                    typename Shape::Element* probabilities) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int row = state.first_row + r * 8 + lane_index() / 4;
    float largest = state.softmax.largest[r];
#pragma unroll
    for (int part = 0; part < Shape::kKeyParts; ++part) largest = fmaxf(largest, exchange.largest[part][row]);
    const float base = softmax_base(largest, scale);
    const float rescale = fast_exp2(state.softmax.largest[r] * scale - base);
    state.softmax.largest[r] = largest;
    if (state.first_key == 0 && lane_index() % 4 == 0) exchange.rescale[row] = rescale;
    float sum = 0;
#pragma unroll
    for (int n = 0; n < Shape::kPartKeys / 8; ++n) {
      const float left = fast_exp2(state.scores[n][2 * r] * scale - base);
      const float right = fast_exp2(state.scores[n][2 * r + 1] * scale - base);
      sum += left + right;
      const int at = swizzled<Shape::kKeys>(row, state.first_key / kChunk + n) + lane_index() % 4 * 2;
      *reinterpret_cast<std::uint32_t*>(probabilities + at) = pack2<typename Shape::Element>(left, right);
    }
    state.softmax.sum[r] = state.softmax.sum[r] * rescale + sum;
  }
}

template <class Shape>
using LatentResults = float[Shape::kRowTiles][Shape::kColumns / 8][4];

template <class Shape>
__device__ __forceinline__ void add_latents(LatentResults<Shape>& out, const LatentShared<Shape>& shared,
                                            const typename Shape::Element* values) {
  using Element = typename Shape::Element;
#pragma unroll
  for (int m = 0; m < Shape::kRowTiles; ++m) {
    const float* rescale = shared.exchange->rescale + m * kFragmentRows + lane_index() / 4;
    rescale_rows(out[m], {rescale[0], rescale[8]});
  }
  const auto left = fragments_of<Shape::kKeys>(shared.probabilities);
  const auto right = fragments_of<kLatentWidth>(values);
#pragma unroll
  for (int depth = 0; depth < Shape::kKeys; depth += kFragmentDepth) {
    std::uint32_t a[Shape::kRowTiles][4];
#pragma unroll
    for (int m = 0; m < Shape::kRowTiles; ++m) ldmatrix_x4(a[m], left.at(m * kFragmentRows, depth));
#pragma unroll
    for (int n = 0; n < Shape::kColumns / 16; ++n) {
      std::uint32_t b[4];
      ldmatrix_x4_trans(b, right.at(depth, warp_index() * Shape::kColumns + n * 16));
#pragma unroll
      for (int m = 0; m < Shape::kRowTiles; ++m) {
        Shape::Isa::template multiply<Element>(out[m][2 * n], a[m], b[0], b[1]);
        Shape::Isa::template multiply<Element>(out[m][2 * n + 1], a[m], b[2], b[3]);
      }
    }
  }
}

// Brings the parts' sums together, for all threads of the block to read.
template <class Shape>
__device__ void finish_softmax(const LatentScores<Shape>& state, float scale, LatentExchange<Shape>& exchange) {
  const int part = warp_index() / Shape::kRowTiles;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int row = state.first_row + r * 8 + lane_index() / 4;
    const float sum = quad_reduce(state.softmax.sum[r], Plus{});
    if (lane_index() % 4 != 0) continue;
    exchange.sum[part][row] = sum;
    if (part == 0) exchange.softmax[row].x = state.softmax.largest[r] * scale;
  }
  __syncthreads();
  if (thread_index() < Shape::kRows) {
    float sum = 0;
    for (int i = 0; i < Shape::kKeyParts; ++i) sum += exchange.sum[i][thread_index()];
    exchange.softmax[thread_index()].y = sum;
  }
  __syncthreads();
}

// Row 0 of the block is row `first_row` of the batch.
template <class Shape>
__device__ void store_latents(const LatentArguments<typename Shape::Element>& args, const LatentResults<Shape>& out,
                              const LatentExchange<Shape>& exchange, std::int64_t first_row, int rows, int split) {
  using Element = typename Shape::Element;
  const Partials& partials = args.partials;
#pragma unroll
  for (int m = 0; m < Shape::kRowTiles; ++m) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int row = m * kFragmentRows + r * 8 + lane_index() / 4;
      if (row >= rows) continue;
      const float2 softmax = exchange.softmax[row];
      const std::int64_t part = (first_row + row) * partials.splits + split;
      const std::int64_t to = part * kLatentValues + warp_index() * Shape::kColumns + lane_index() % 4 * 2;
      const float factor = partials.splits == 1 ? 1 / softmax.y : 1;
#pragma unroll
      for (int n = 0; n < Shape::kColumns / 8; ++n) {
        const float left = out[m][n][2 * r] * factor;
        const float right = out[m][n][2 * r + 1] * factor;
        if (partials.splits == 1)
          *reinterpret_cast<std::uint32_t*>(args.out + to + n * 8) = pack2<Element>(left, right);
        else *reinterpret_cast<float2*>(partials.sums + to + n * 8) = make_float2(left, right);
      }
      if (partials.splits > 1 && warp_index() == 0 && lane_index() % 4 == 0) partials.softmax[part] = softmax;
    }
  }
}

// sequences × splits × row groups blocks; those that read the same keys are neighbours.
template <class Shape>
__global__ void __launch_bounds__(Shape::kThreads) latent_decode_kernel(LatentArguments<typename Shape::Element> args) {
  if constexpr (Shape::Isa::kCompiled) {
    const int row_group = static_cast<int>(blockIdx.x) % args.row_groups;
    const int split = static_cast<int>(blockIdx.x) / args.row_groups % args.partials.splits;
    const int sequence = static_cast<int>(blockIdx.x) / args.row_groups / args.partials.splits;
    const int context = args.contexts[sequence];
    const int sequence_rows = args.heads * args.tokens;
    const int group_row = row_group * Shape::kRows;
    const int rows = min(sequence_rows - group_row, Shape::kRows);
    const std::int64_t first_row = std::int64_t{1} * sequence * sequence_rows + group_row;
    const KeyRange range = split_keys({0, context + args.tokens}, Shape::kKeys, split, args.partials.splits);

    const LatentShared<Shape> shared(dynamic_shared<unsigned char>());
    load_latent_queries<Shape>(args.queries + first_row * kLatentWidth, rows, shared.queries);
    KvPipeline<Shape> pipeline(args.cache, PagedRows(args.cache, sequence, 0), range, shared.tiles);
    pipeline.start();

    LatentScores<Shape> state{};
    state.first_row = warp_index() % Shape::kRowTiles * kFragmentRows;
    state.first_key = warp_index() / Shape::kRowTiles * Shape::kPartKeys;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int row = group_row + min(state.first_row + r * 8 + lane_index() / 4, rows - 1);
      state.seen[r] = context + row / args.heads + 1;
    }
    LatentResults<Shape> out;
#pragma unroll
    for (int m = 0; m < Shape::kRowTiles; ++m) clear(out[m]);

    for (int key = range.first; key < range.last; key += Shape::kKeys) {
      const auto tile = pipeline.next();
      score_latents<Shape>(state, shared.queries, tile.keys);
      if (key + Shape::kKeys > context) mask_latents<Shape>(state, key);
      tell_largest<Shape>(state, *shared.exchange);
      __syncthreads();
      write_probabilities<Shape>(state, args.scale, *shared.exchange, shared.probabilities);
      __syncthreads();
      add_latents<Shape>(out, shared, tile.keys);
    }
    finish_softmax<Shape>(state, args.scale, *shared.exchange);
    store_latents<Shape>(args, out, *shared.exchange, first_row, rows, split);
  }
}

}  // namespace servecast::kernels::SERVECAST_DEVICE
