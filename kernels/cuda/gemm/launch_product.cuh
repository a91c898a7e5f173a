// Which kernel and which tile a product takes.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cuda/common/operands.hpp"
#include "kernels/cuda/common/types.hpp"
#include "kernels/cuda/gemm/converted.cuh"
#include "kernels/cuda/gemm/streamed.cuh"
#include "kernels/operators/operator.hpp"

namespace servecast::kernels::SERVECAST_DEVICE {

// Tiles of rows that are enough for every way to share `rows` out among groups: a group's last tile may be ragged, so
// that each group that has rows adds at most one to ⌊(rows − 1)/kM⌋ of its own.
template <class Tile, class Product>
std::int64_t row_tiles(const Product& product) {
  const std::int64_t used = std::min(product.rows, product.groups);
  return used + (product.rows - used) / Tile::kM;
}

template <class Tile, class Product>
Grid product_grid(const Product& product, int stages, DeviceStream stream) {
  const auto columns = static_cast<unsigned>(ceil_div(product.n, Tile::kN));
  const auto bytes = static_cast<std::int64_t>(sizeof(std::uint16_t)) * stages * Tile::kStage;
  return {dim3(static_cast<unsigned>(row_tiles<Tile>(product)), columns), dim3(Tile::kThreads), bytes, stream};
}

template <class Product>
bool is_small(const Product& product) {
  return product.rows <= std::int64_t{SmallTile::kM} * product.groups;
}

template <class T, class Tile, int kStages>
Status launch_streamed(const Product<T, T, T>& product, DeviceStream stream) {
  return launch(streamed_product_kernel<T, Tile, kStages>, product_grid<Tile>(product, kStages, stream), product);
}

// The largest tile that still gives every processor one, and that the block's shared memory holds.
template <class T>
Status launch_streamed(const Product<T, T, T>& product, const Target& target, DeviceStream stream) {
  constexpr int kLargeStages = 3;
  constexpr std::int64_t kLargeBytes = std::int64_t{2} * kLargeStages * LargeTile::kStage;
  if (is_small(product)) return launch_streamed<T, SmallTile, 4>(product, stream);
  const bool fills = row_tiles<LargeTile>(product) * ceil_div(product.n, LargeTile::kN) >= target.processors;
  if (product.rows > std::int64_t{MediumTile::kM} * product.groups && fills &&
      target.shared_memory_per_block >= kLargeBytes) {
    return launch_streamed<T, LargeTile, kLargeStages>(product, stream);
  }
  return launch_streamed<T, MediumTile, 3>(product, stream);
}

template <class X, class W, class T, class Isa>
Status launch_converted(const Product<X, W, T>& product, DeviceStream stream) {
  return is_small(product) ? launch(converted_product_kernel<X, W, T, SmallTile, Isa>,
                                    product_grid<SmallTile>(product, 2, stream), product)
                           : launch(converted_product_kernel<X, W, T, MediumTile, Isa>,
                                    product_grid<MediumTile>(product, 2, stream), product);
}

// The type of the product is known to exist on the target.
template <class X, class W, class T>
Status launch_product(const Product<X, W, T>& product, const Target& target, DeviceStream stream) {
  constexpr int kNarrowest = std::min({SmallTile::kN, MediumTile::kN, LargeTile::kN});
  if (Status status = check_blocks(ceil_div(product.n, kNarrowest), "columns of a product"); !status.ok())
    return status;
  constexpr bool kPlain = std::is_same_v<X, T> && std::is_same_v<W, T>;
  if constexpr (std::is_same_v<T, F16>) {
    if (target.architecture < 80) return launch_converted<X, W, T, Turing>(product, stream);
  }
  if constexpr (kPlain) {
    if (product.aligned) return launch_streamed<T>(product, target, stream);
  }
  return launch_converted<X, W, T, Ampere>(product, stream);
}

}  // namespace servecast::kernels::SERVECAST_DEVICE
