// The product of matrices that are stored otherwise than they are multiplied, or that do not lie as asynchronous
// copies need them: chunks pass through registers, where they are converted, on their way to shared memory.
#pragma once

#include "kernels/cuda/gemm/chunks.cuh"
#include "kernels/cuda/gemm/tile.cuh"

namespace servecast::kernels::SERVECAST_DEVICE {

// The chunks that one thread carries.
template <class X, class W, class T, class Tile>
struct Carrier {
  const Product<X, W, T>& product;
  const Part& part;
  std::int64_t x_rows[Tile::kXChunks];  // −1 beyond the part
  Chunk<X> x[Tile::kXChunks];
  Chunk<W> weights[Tile::kWeightChunks];

  __device__ __forceinline__ Carrier(const Product<X, W, T>& of, const Part& at) : product(of), part(at) {
#pragma unroll
    for (int i = 0; i < Tile::kXChunks; ++i) {
      const int row = (i * Tile::kThreads + thread_index()) / kRowChunks;
      x_rows[i] = row < part.rows ? part.row + row : -1;
      if (product.gather != nullptr && x_rows[i] >= 0) x_rows[i] = product.gather[x_rows[i]];
    }
  }

  // Elements begin … begin + kDepth − 1 of k, into registers.
  __device__ __forceinline__ void fetch(int begin) {
    const int element = begin + thread_index() % kRowChunks * kChunk;
#pragma unroll
    for (int i = 0; i < Tile::kXChunks; ++i) {
      x[i] = {};
      if (x_rows[i] >= 0) x[i].fetch(product.x, x_rows[i], element, product.k, product.aligned);
    }
#pragma unroll
    for (int i = 0; i < Tile::kWeightChunks; ++i) {
      const int column = part.column + (i * Tile::kThreads + thread_index()) / kRowChunks;
      const std::int64_t row = static_cast<std::int64_t>(part.group) * product.n + column;
      weights[i] = {};
      if (column >= product.n) continue;
      if constexpr (std::is_same_v<W, Int4Pair>) {
        weights[i].fetch(product.weights, row, element, product.k, product.scales, product.group);
      } else {
        weights[i].fetch(product.weights, row, element, product.k, product.aligned);
      }
    }
  }

  __device__ __forceinline__ void put(T* stage) const {
    const int chunk = thread_index() % kRowChunks;
#pragma unroll
    for (int i = 0; i < Tile::kXChunks; ++i) {
      const int row = (i * Tile::kThreads + thread_index()) / kRowChunks;
      store_vector(stage + swizzled<kDepth>(row, chunk), x[i].template converted<T>());
    }
#pragma unroll
    for (int i = 0; i < Tile::kWeightChunks; ++i) {
      const int row = Tile::kM + (i * Tile::kThreads + thread_index()) / kRowChunks;
      store_vector(stage + swizzled<kDepth>(row, chunk), weights[i].template converted<T>());
    }
  }
};

// Two stages of shared memory. On Turing in fp16 alone.
template <class X, class W, class T, class Tile, class Isa>
__global__ void __launch_bounds__(Tile::kThreads) converted_product_kernel(Product<X, W, T> product) {
  if constexpr (Isa::kCompiled) {
    T* stages = dynamic_shared<T>();
    const Part part = part_of_block<Tile>(product);
    if (part.rows <= 0) return;  // the whole block
    Carrier<X, W, T, Tile> carrier(product, part);
    const int steps = (product.k + kDepth - 1) / kDepth;
    carrier.fetch(0);
    carrier.put(stages);
    __syncthreads();
    Accumulators<Tile> sums;
    for (int step = 0; step < steps; ++step) {
      const bool more = step + 1 < steps;
      if (more) carrier.fetch((step + 1) * kDepth);
      sums.template multiply<T, Isa>(stages + step % 2 * Tile::kStage);
      if (more) carrier.put(stages + (step + 1) % 2 * Tile::kStage);
      __syncthreads();
    }
    sums.store(product.y, product.n, part, product.scale, std::is_same_v<W, std::int8_t> ? product.scales : nullptr);
  }
}

}  // namespace servecast::kernels::SERVECAST_DEVICE
