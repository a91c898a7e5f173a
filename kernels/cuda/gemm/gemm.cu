// Launchers of our own matrix products.
#include "kernels/cuda/gemm/launch_product.cuh"
#include "kernels/cuda/launchers.hpp"
#ifndef SERVECAST_EMULATION
#include "kernels/cuda/gemm/cublaslt.hpp"
#endif

namespace servecast::kernels::SERVECAST_DEVICE {
namespace {

template <class X, class W, class T>
Product<X, W, T> product_of(const Gemm& op) {
  Product<X, W, T> product{};
  product.x = static_cast<const X*>(op.x);
  product.weights = static_cast<const W*>(op.weights);
  product.y = static_cast<T*>(op.y);
  product.scales = op.scales;
  product.scale = op.type == DType::kFp8 ? op.x_scale * op.weight_scale : 1.0F;
  product.rows = op.m;
  product.groups = 1;
  product.n = op.n;
  product.k = op.k;
  product.group = op.group;
  product.aligned = aligned_rows<X>(op.x, op.k, kChunk) && aligned_rows<W>(op.weights, op.k, kChunk);
  return product;
}

template <class T>
Product<T, T, T> product_of(const GroupedGemm& op) {
  Product<T, T, T> product{};
  product.x = static_cast<const T*>(op.x);
  product.weights = static_cast<const T*>(op.weights);
  product.y = static_cast<T*>(op.y);
  product.scale = 1;
  product.offsets = op.offsets;
  product.gather = op.gathers ? op.gather : nullptr;
  product.rows = op.rows;
  product.groups = op.groups;
  product.n = op.n;
  product.k = op.k;
  product.aligned = aligned_rows<T>(op.x, op.k, kChunk) && aligned_rows<T>(op.weights, op.k, kChunk);
  return product;
}

template <class T>
Status launch_int4(const Gemm& op, const Target& target, DeviceStream stream) {
  if (op.group % kChunk != 0) return Status::unsupported("int4 weights need groups of a multiple of 8 elements");
  if (!aligned_rows<std::uint32_t>(op.weights, 1, 1)) return Status::invalid("int4 weights begin on no multiple of 4");
  return launch_product(product_of<T, Int4Pair, T>(op), target, stream);
}

Status launch_own(const Gemm& op, const Target& target, DeviceStream stream) {
  if (op.type == DType::kFp8) {
    const Status status = lacks_fp8(target);
    return status.ok() ? launch_product(product_of<Fp8, Fp8, Bf16>(op), target, stream) : status;
  }
  return with_half_type(op.type, target, [&](auto type) {
    using T = typename decltype(type)::type;
    if (op.weight_type == DType::kInt8) return launch_product(product_of<T, std::int8_t, T>(op), target, stream);
    if (op.weight_type == DType::kInt4) return launch_int4<T>(op, target, stream);
    return launch_product(product_of<T, T, T>(op), target, stream);
  });
}

}  // namespace

Status launch(const Gemm& op, const Target& target, DeviceStream stream) {
  if (Status status = validate(op); !status.ok()) return status;
  if (op.layout != WeightLayout::kRows) return Status::unsupported("panels of weights are the CPU set's");
  if (op.method == GemmMethod::kOwn) return launch_own(op, target, stream);
#ifdef SERVECAST_EMULATION
  return Status::unsupported("cuBLASLt does not run under emulation; our own product does");
#else
  return launch_library(op, target, stream);
#endif
}

Status launch(const GroupedGemm& op, const Target& target, DeviceStream stream) {
  if (Status status = validate(op); !status.ok()) return status;
  return with_half_type(op.type, target, [&](auto type) {
    return launch_product(product_of<typename decltype(type)::type>(op), target, stream);
  });
}

}  // namespace servecast::kernels::SERVECAST_DEVICE
