#include "kernels/cases/lists.hpp"
#include "kernels/cases/run.hpp"
#include "tests/kernels/cpu/backends.hpp"

using namespace servecast::kernels;

namespace {

void check_all(Backend& backend) {
  for (const CaseShape& shape : case_shapes(CaseSet::kCpu)) {
    const Case subject(shape);
    const Verdict verdict = check(subject, backend);
    CHECK_MESSAGE(verdict.ok(), subject.name(), ": ", verdict.problem);
  }
}

}  // namespace

TEST_CASE("the CPU set is right on all its cases, on every instruction set that this machine has") {
  for (const auto isa : isas()) {
    CAPTURE(cpu::name_of(isa));
    check_all(*backend_with(isa));
  }
}

TEST_CASE("the CPU set is right on all its cases with two threads and keys split as the operation says") {
  check_all(*backend_with(cpu::best_isa(), 2, false));
}

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
