// What the CPU set refuses. That it is right on all its cases is tested in ../cases.
#include <doctest/doctest.h>
#include <memory>

#include "kernels/cpu/backend.hpp"

using namespace servecast::kernels;

TEST_CASE("what the CPU set does not have is refused by name") {
  const auto backend = make_cpu_backend();
  const float number = 0;
  float out = 0;
  RmsNorm norm;
  norm.x = norm.weight = &number;
  norm.out = &out;
  const Status status = backend->launch(norm, nullptr);
  CHECK(status.code() == Status::Code::kUnsupported);
  CHECK(status.message() == "the CPU set computes in f32, and rms_norm is of bf16");
}

TEST_CASE("an unsound operation is the caller's mistake, and no back end comes of unsound options") {
  const auto backend = make_cpu_backend();
  CHECK(backend->launch(RmsNorm{}, nullptr).code() == Status::Code::kInvalid);
  CHECK(make_cpu_backend({0, true, {}}) == nullptr);
}
