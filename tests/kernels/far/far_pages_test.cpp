#include "tests/kernels/support/far_pages.hpp"

#include <doctest/doctest.h>
#include <initializer_list>
#include <map>

#include "kernels/cases/lists.hpp"
#include "kernels/emulation/backend.hpp"

namespace servecast::kernels {
namespace {

bool is_quick(const CaseShape& shape) { return work(Case(shape).operation()).flops < 3e7; }

// The format of what lies in the pages; blocks that are copied are bytes.
DType format_of(const Operation& operation) {
  return std::visit(
      [](const auto& op) {
        if constexpr (requires { op.kv; }) {
          return op.kv.type;
        } else if constexpr (requires { op.type; }) {
          return op.type;
        } else {
          return DType::kInt8;
        }
      },
      operation);
}

// `wanted` small cases of each format, all of whose pages then lie behind 36 GB of others.
void check_far(std::string_view operation, std::initializer_list<DType> formats, int wanted) {
  const std::unique_ptr<Backend> backend = make_emulated_backend({});
  std::map<DType, int> checked;
  for (const CaseShape& shape : case_shapes(CaseSet::kCuda, operation)) {
    const DType format = format_of(shape.operation);
    if (checked[format] == wanted || !is_quick(shape)) continue;
    CAPTURE(shape.name);
    CHECK(far_problem(Case(shape), *backend) == "");
    ++checked[format];
  }
  for (const DType format : formats) CHECK_MESSAGE(checked[format] == wanted, name_of(format));
}

constexpr std::initializer_list<DType> kHalves = {DType::kBf16, DType::kF16};
constexpr std::initializer_list<DType> kCaches = {DType::kBf16, DType::kF16, DType::kFp8, DType::kInt8};
constexpr std::initializer_list<DType> kBytes = {DType::kInt8};

TEST_CASE("prefill attention reads pages beyond 4 GB") { check_far("prefill_attention", kCaches, 2); }
TEST_CASE("decode attention reads pages beyond 4 GB") { check_far("decode_attention", kCaches, 2); }
TEST_CASE("latent decode attention reads pages beyond 4 GB") { check_far("latent_decode_attention", kHalves, 3); }
TEST_CASE("appends write pages beyond 4 GB") { check_far("append_kv", kCaches, 2); }
TEST_CASE("blocks are copied beyond 4 GB") { check_far("copy_blocks", kBytes, 4); }
TEST_CASE("blocks are gathered and scattered beyond 4 GB") { check_far("gather_blocks", kBytes, 6); }

}  // namespace
}  // namespace servecast::kernels
