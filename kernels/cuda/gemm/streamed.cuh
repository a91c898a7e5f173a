// The product of two matrices of one type, whose tiles stream into shared memory while earlier ones are multiplied.
#pragma once

#include "kernels/cuda/gemm/tile.cuh"

namespace servecast::kernels::SERVECAST_DEVICE {

// The chunks of x and of the weights that one thread copies, stage after stage.
template <class T, class Tile>
struct Stream {
  const T* x[Tile::kXChunks];
  const T* weights;
  int x_bytes[Tile::kXChunks];  // 0 for rows beyond the part, whose chunks are zeros
  int columns;                  // of the weights that exist, counted from the part's
  int k;

  __device__ __forceinline__ Stream(const Product<T, T, T>& product, const Part& part)
      : weights(product.weights + (static_cast<std::int64_t>(part.group) * product.n + part.column) * product.k),
        columns(product.n - part.column),
        k(product.k) {
#pragma unroll
    for (int i = 0; i < Tile::kXChunks; ++i) {
      const int row = (i * Tile::kThreads + thread_index()) / kRowChunks;
      x_bytes[i] = row < part.rows ? 16 : 0;
      std::int64_t source = part.row + (row < part.rows ? row : 0);
      if (product.gather != nullptr) source = product.gather[source];
      x[i] = product.x + source * product.k;
    }
  }

  // Starts the copies of elements begin … begin + kDepth − 1 of k; what lies beyond k is filled with zeros.
  __device__ __forceinline__ void copy(int begin, T* stage) const {
    const int chunk = thread_index() % kRowChunks;
    const int element = begin + chunk * kChunk;
    const bool inside = element < k;
    const int offset = inside ? element : 0;
#pragma unroll
    for (int i = 0; i < Tile::kXChunks; ++i) {
      const int row = (i * Tile::kThreads + thread_index()) / kRowChunks;
      cp_async16(stage + swizzled<kDepth>(row, chunk), x[i] + offset, inside ? x_bytes[i] : 0);
    }
#pragma unroll
    for (int i = 0; i < Tile::kWeightChunks; ++i) {
      const int row = (i * Tile::kThreads + thread_index()) / kRowChunks;
      const bool exists = row < columns;
      const T* source = weights + static_cast<std::int64_t>(exists ? row : 0) * k + offset;
      cp_async16(stage + swizzled<kDepth>(Tile::kM + row, chunk), source, inside && exists ? 16 : 0);
    }
  }
};

// k is a multiple of kChunk and operands are aligned. Needs sm_80.
template <class T, class Tile, int kStages>
__global__ void __launch_bounds__(Tile::kThreads) streamed_product_kernel(Product<T, T, T> product) {
#if SERVECAST_ARCH >= 80
  T* stages = dynamic_shared<T>();
  const Part part = part_of_block<Tile>(product);
  if (part.rows <= 0) return;  // the whole block
  const Stream<T, Tile> stream(product, part);
  const int steps = (product.k + kDepth - 1) / kDepth;
  for (int step = 0; step < kStages - 1; ++step) {
    if (step < steps) stream.copy(step * kDepth, stages + step * Tile::kStage);
    cp_async_commit();
  }
  Accumulators<Tile> sums;
  for (int step = 0; step < steps; ++step) {
    cp_async_wait<kStages - 2>();
    // Behind the barrier all threads' copies of this step are there, and nobody reads the stage that is filled next.
    __syncthreads();
    const int ahead = step + kStages - 1;
    if (ahead < steps) stream.copy(ahead * kDepth, stages + ahead % kStages * Tile::kStage);
    cp_async_commit();
    sums.template multiply<T, Ampere>(stages + step % kStages * Tile::kStage);
  }
  sums.store(product.y, product.n, part, product.scale, nullptr);
#endif
}

}  // namespace servecast::kernels::SERVECAST_DEVICE
