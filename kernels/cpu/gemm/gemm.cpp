#include "kernels/cpu/gemm/product.hpp"
#include "kernels/cpu/operators.hpp"

namespace servecast::kernels::cpu {

void run(const Gemm& op, Runtime& runtime) {
  Product product;
  product.weights = {op.weight_type, op.layout, op.weights, op.scales, op.n, op.k, op.group};
  product.x = static_cast<const float*>(op.x);
  product.rows = op.m;
  product.y = static_cast<float*>(op.y);
  runtime.pool().for_each(units_of(product), [&](std::int64_t unit, std::int32_t thread) {
    compute_unit(product, unit, runtime.micro(), runtime.scratch(thread));
  });
}

// Groups one after another; within one, threads share as they do a single product.
void run(const GroupedGemm& op, Runtime& runtime) {
  Product product;
  product.weights.n = op.n;
  product.weights.k = op.k;
  for (std::int64_t group = 0; group < op.groups; ++group) {
    const std::int64_t first = op.offsets[group];
    product.rows = op.offsets[group + 1] - first;
    product.weights.data = static_cast<const float*>(op.weights) + group * op.n * op.k;
    product.x = static_cast<const float*>(op.x) + (op.gathers ? 0 : first * op.k);
    product.gather = op.gathers ? op.gather + first : nullptr;
    product.y = static_cast<float*>(op.y) + first * op.n;
    runtime.pool().for_each(units_of(product), [&](std::int64_t unit, std::int32_t thread) {
      compute_unit(product, unit, runtime.micro(), runtime.scratch(thread));
    });
  }
}

}  // namespace servecast::kernels::cpu
