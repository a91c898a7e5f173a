// What is measured: the shapes of a target and a draft model in prefill, decode and verification, and whole layers and
// steps that validate the sum of the parts.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/operation.hpp"

namespace servecast::kernels::gpu_check {

// A dense decoder with a gated MLP.
struct ModelShape {
  std::string_view name;
  std::int32_t layers = 1;
  std::int32_t hidden = 1;
  std::int32_t heads = 1;
  std::int32_t kv_heads = 1;
  std::int32_t head_dim = 64;
  std::int32_t intermediate = 1;
  std::int32_t vocabulary = 1;
};

// What the shapes depend on beside the plan itself.
struct PlanTarget {
  bool smoke = false;
  DType type = DType::kBf16;
  GemmMethod method = GemmMethod::kLibrary;
  WeightLayout layout = WeightLayout::kRows;
  bool quantised = true;  // fp8 and int8 caches, fp8 and int4 weights
  bool latent = true;     // MLA
  std::int32_t processors = 1;
};

// One time to take: `body` launched `times` over, then `tail`. Each launch of a graph has operands of its own, as the
// layers of a model have.
struct Point {
  std::string group;  // what the points beside it have in common: "gemm", "decode", "step", …
  std::vector<Operation> body;
  std::vector<Operation> tail;
  std::int32_t times = 1;
  bool held_out = false;  // not to be fitted: it validates
  // What spans of the operations point to.
  std::vector<std::shared_ptr<const std::vector<SequenceSpan>>> sequences;
};

// Points of single operators and of mixed batches.
[[nodiscard]] std::vector<Point> measuring_plan(const PlanTarget& target);
// Whole layers and whole steps, all held out.
[[nodiscard]] std::vector<Point> graph_plan(const PlanTarget& target);

}  // namespace servecast::kernels::gpu_check
