#include "kernels/gpu_check/library_cases.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <set>

#include "kernels/cases/run.hpp"
#include "kernels/emulation/backend.hpp"

namespace servecast::kernels::gpu_check {
namespace {

std::set<DType> weight_types(std::int32_t architecture) {
  std::set<DType> types;
  for (const CaseShape& shape : library_cases(architecture)) types.insert(std::get<Gemm>(shape.operation).weight_type);
  return types;
}

TEST_CASE("the library is checked in every type that its architecture has") {
  CHECK(weight_types(75) == std::set{DType::kF16, DType::kInt8, DType::kInt4});
  CHECK(weight_types(80) == std::set{DType::kBf16, DType::kF16, DType::kInt8, DType::kInt4});
  CHECK(weight_types(90) == std::set{DType::kBf16, DType::kF16, DType::kInt8, DType::kInt4, DType::kFp8});
}

TEST_CASE("the library's cases are sound: our own product answers them right") {
  const auto backend = make_emulated_backend({});
  for (CaseShape shape : library_cases(90)) {
    Gemm& op = std::get<Gemm>(shape.operation);
    CHECK(op.method == GemmMethod::kLibrary);
    op.method = GemmMethod::kOwn;
    op.workspace_bytes = 0;
    CAPTURE(shape.name);
    CHECK(check(Case(shape), *backend).problem.empty());
  }
}

}  // namespace
}  // namespace servecast::kernels::gpu_check
