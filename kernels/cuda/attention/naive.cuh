// Attention the textbook way, in three kernels: scores to memory, softmax over their rows, probabilities times values.
// It stands beside the online form for contrast: sums are plain fp32, without tensor cores.
#pragma once

#include <cstdint>

#include "kernels/cuda/common/reduce.cuh"
#include "kernels/cuda/common/vectors.cuh"

namespace servecast::kernels::SERVECAST_DEVICE {

inline constexpr int kNaiveTile = 64;  // rows and columns of a block's product
inline constexpr int kNaiveDepth = 16;
inline constexpr int kNaiveThreads = 256;
inline constexpr int kNaiveShare = 4;  // rows, and columns, of a thread

template <class Element>
struct NaiveArguments {
  const Element* queries;
  const Element* keys;
  const Element* values;
  float* scores;
  Element* out;
  int heads;
  int kv_heads;
  int head_dim;
  int query_tokens;
  int key_tokens;
  float scale;

  // Keys that a query sees; the last query sees all.
  __device__ int seen(int query) const { return key_tokens - query_tokens + query + 1; }
  __device__ std::int64_t score(int head, int query, int key) const {
    return (std::int64_t{1} * head * query_tokens + query) * key_tokens + key;
  }
  __device__ std::int64_t query_at(int query, int head) const {
    return (std::int64_t{1} * query * heads + head) * head_dim;
  }
  __device__ std::int64_t key_at(int key, int head) const {
    return (std::int64_t{1} * key * kv_heads + head / (heads / kv_heads)) * head_dim;
  }
};

// sums[i][j] = Σ_k left(row, k) · right(k, column) over k < depth: thread t has rows t/16 + 16 i and columns
// t mod 16 + 16 j of the block's tile. Neighbouring threads ask for neighbouring k of the left operand, and of the
// right one if kRightIsDeep, else for neighbouring columns: as each lies in memory.
template <bool kRightIsDeep, class Left, class Right>
__device__ __forceinline__ void multiply_tile(int depth, const Left& left, const Right& right,
                                              float (&sums)[kNaiveShare][kNaiveShare]) {
  __shared__ float lefts[kNaiveDepth][kNaiveTile + 1];
  __shared__ float rights[kNaiveDepth][kNaiveTile + 1];
  for (int first = 0; first < depth; first += kNaiveDepth) {
    __syncthreads();
    for (int i = thread_index(); i < kNaiveDepth * kNaiveTile; i += kNaiveThreads) {
      const int k = i % kNaiveDepth;
      lefts[k][i / kNaiveDepth] = left(i / kNaiveDepth, first + k);
      const int right_k = kRightIsDeep ? k : i / kNaiveTile;
      const int column = kRightIsDeep ? i / kNaiveDepth : i % kNaiveTile;
      rights[right_k][column] = right(first + right_k, column);
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kNaiveDepth; ++k) {
#pragma unroll
      for (int i = 0; i < kNaiveShare; ++i) {
#pragma unroll
        for (int j = 0; j < kNaiveShare; ++j) {
          sums[i][j] += lefts[k][thread_index() / 16 + 16 * i] * rights[k][thread_index() % 16 + 16 * j];
        }
      }
    }
  }
}

// Key tiles along x, query tiles along y, heads along z. Tiles that no query sees are left as they are.
template <class Element>
__global__ void __launch_bounds__(kNaiveThreads) naive_scores_kernel(NaiveArguments<Element> args) {
  const int first_key = static_cast<int>(blockIdx.x) * kNaiveTile;
  const int first_query = static_cast<int>(blockIdx.y) * kNaiveTile;
  const int head = static_cast<int>(blockIdx.z);
  if (first_key >= args.seen(min(first_query + kNaiveTile, args.query_tokens) - 1)) return;
  float sums[kNaiveShare][kNaiveShare] = {};
  const auto query = [&](int row, int k) {
    const bool reads = first_query + row < args.query_tokens && k < args.head_dim;
    return reads ? to_float(args.queries[args.query_at(first_query + row, head) + k]) : 0.0F;
  };
  const auto key = [&](int k, int column) {
    const bool reads = first_key + column < args.key_tokens && k < args.head_dim;
    return reads ? to_float(args.keys[args.key_at(first_key + column, head) + k]) : 0.0F;
  };
  multiply_tile<true>(args.head_dim, query, key, sums);
  for (int i = 0; i < kNaiveShare; ++i) {
    for (int j = 0; j < kNaiveShare; ++j) {
      const int row = first_query + thread_index() / 16 + 16 * i;
      const int column = first_key + thread_index() % 16 + 16 * j;
      if (row < args.query_tokens && column < args.seen(row)) {
        args.scores[args.score(head, row, column)] = sums[i][j] * args.scale;
      }
    }
  }
}

// Queries along x, heads along y. In place, over the keys that the query sees.
template <class Element>
__global__ void __launch_bounds__(kNaiveThreads) naive_softmax_kernel(NaiveArguments<Element> args) {
  __shared__ float scratch[kMaxWarps];
  const int query = static_cast<int>(blockIdx.x);
  float* row = args.scores + args.score(static_cast<int>(blockIdx.y), query, 0);
  const int keys = args.seen(query);
  float largest = -INFINITY;
  for (int i = thread_index(); i < keys; i += kNaiveThreads) largest = fmaxf(largest, row[i]);
  largest = block_reduce(largest, -INFINITY, Larger{}, scratch);
  float sum = 0;
  for (int i = thread_index(); i < keys; i += kNaiveThreads) {
    row[i] = expf(row[i] - largest);
    sum += row[i];
  }
  sum = block_reduce(sum, 0.0F, Plus{}, scratch);
  for (int i = thread_index(); i < keys; i += kNaiveThreads) row[i] /= sum;
}

// Tiles of the head's elements along x, query tiles along y, heads along z.
template <class Element>
__global__ void __launch_bounds__(kNaiveThreads) naive_values_kernel(NaiveArguments<Element> args) {
  const int first_column = static_cast<int>(blockIdx.x) * kNaiveTile;
  const int first_query = static_cast<int>(blockIdx.y) * kNaiveTile;
  const int head = static_cast<int>(blockIdx.z);
  float sums[kNaiveShare][kNaiveShare] = {};
  const auto probability = [&](int row, int key) {
    const int query = first_query + row;
    const bool reads = query < args.query_tokens && key < args.seen(query);
    return reads ? args.scores[args.score(head, query, key)] : 0.0F;
  };
  const auto value = [&](int key, int column) {
    const bool reads = key < args.key_tokens && first_column + column < args.head_dim;
    return reads ? to_float(args.values[args.key_at(key, head) + first_column + column]) : 0.0F;
  };
  multiply_tile<false>(args.seen(min(first_query + kNaiveTile, args.query_tokens) - 1), probability, value, sums);
  for (int i = 0; i < kNaiveShare; ++i) {
    for (int j = 0; j < kNaiveShare; ++j) {
      const int row = first_query + thread_index() / 16 + 16 * i;
      const int column = first_column + thread_index() % 16 + 16 * j;
      if (row < args.query_tokens && column < args.head_dim) {
        args.out[args.query_at(row, head) + column] = from_float<Element>(sums[i][j]);
      }
    }
  }
}

}  // namespace servecast::kernels::SERVECAST_DEVICE
