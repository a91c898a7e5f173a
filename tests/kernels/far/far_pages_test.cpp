#include "tests/kernels/support/far_pages.hpp"

#include <doctest/doctest.h>

#include "kernels/cases/lists.hpp"
#include "kernels/emulation/backend.hpp"

namespace servecast::kernels {
namespace {

bool is_quick(const CaseShape& shape) { return work(Case(shape).operation()).flops < 3e7; }

// Some of the small cases, all of whose pages then lie behind 36 GB of others.
void check_far(std::string_view operation) {
  constexpr std::size_t kWanted = 6;
  const std::unique_ptr<Backend> backend = make_emulated_backend({});
  std::size_t checked = 0;
  for (const CaseShape& shape : case_shapes(CaseSet::kCuda, operation)) {
    if (checked == kWanted || !is_quick(shape)) continue;
    CAPTURE(shape.name);
    CHECK(far_problem(Case(shape), *backend) == "");
    ++checked;
  }
  CHECK(checked > 0);
}

TEST_CASE("prefill attention reads pages beyond 4 GB") { check_far("prefill_attention"); }
TEST_CASE("decode attention reads pages beyond 4 GB") { check_far("decode_attention"); }
TEST_CASE("latent decode attention reads pages beyond 4 GB") { check_far("latent_decode_attention"); }
TEST_CASE("appends write pages beyond 4 GB") { check_far("append_kv"); }
TEST_CASE("blocks are copied beyond 4 GB") { check_far("copy_blocks"); }
TEST_CASE("blocks are gathered and scattered beyond 4 GB") { check_far("gather_blocks"); }

}  // namespace
}  // namespace servecast::kernels
