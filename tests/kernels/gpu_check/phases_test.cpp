#include "kernels/gpu_check/phases.hpp"

#include <doctest/doctest.h>

#include "kernels/gpu_check/report.hpp"

namespace servecast::kernels::gpu_check {
namespace {

TEST_CASE("a phase gets its share, no more than is left, and is not begun where that is too little") {
  const PhasePlan plan{"measure", 0.4, 10};
  CHECK(allowance(plan, 240, 200) == doctest::Approx(96));
  CHECK(allowance(plan, 240, 50) == doctest::Approx(50));
  CHECK(allowance(plan, 240, 9) == 0);
  CHECK(allowance(plan, 240, -1) == 0);
}

TEST_CASE("a budget too small for what a phase needs still gives it its share") {
  CHECK(allowance({"measure", 0.4, 10}, 10, 10) == doctest::Approx(4));
}

TEST_CASE("a program's end is told apart: exit, signal, deadline, not started") {
  CHECK(run_process({"sh", "-c", "exit 3"}, 10).text() == "exit 3");
  CHECK(run_process({"sh", "-c", "kill -9 $$"}, 10).text() == "signal 9");
  CHECK(run_process({"sleep", "10"}, 0.05).text() == "stopped at its deadline");
  CHECK(run_process({"/no/such/program"}, 10).text() == "did not start");
  CHECK(run_process({"true"}, 10).ok());
}

TEST_CASE("a kernel that hangs fails its operator; a measurement that had to be stopped was cut off") {
  const Ended stopped{Ended::How::kDeadline, 0};
  CHECK(outcome_of("correctness", stopped) == Outcome::kFailed);
  CHECK(outcome_of("measure", stopped) == Outcome::kCutOff);
  CHECK(outcome_of("correctness", {Ended::How::kExit, kExitCutOff}) == Outcome::kCutOff);
  CHECK(outcome_of("measure", {Ended::How::kSignal, 11}) == Outcome::kFailed);
  CHECK(outcome_of("memcheck", {Ended::How::kExit, 86}) == Outcome::kFailed);
}

TEST_CASE("a phase with nothing to do, or not all of it, says so and has not passed") {
  const Ended no_gpu{Ended::How::kExit, kExitNoGpu};
  CHECK(outcome_of("large", no_gpu) == Outcome::kSkipped);
  CHECK(explain(no_gpu) == "nothing to do without a GPU");
  const Ended module{Ended::How::kExit, kExitNotLinked};
  CHECK(outcome_of("ceilings", module) == Outcome::kUnavailable);
  CHECK(explain(module) == "in part not available: loaded as a module");
}

TEST_CASE("the report counts cases by operator and sets speeds against ceilings") {
  const PhaseTexts texts{
      "{\"record\":\"device\",\"device\":\"A GPU\",\"architecture\":90}\n",
      "{\"record\":\"case\",\"operator\":\"gemm\",\"ok\":true,\"error\":0.001,\"bound\":0.004}\n"
      "{\"record\":\"case\",\"operator\":\"gemm\",\"ok\":false,\"error\":0.008,\"bound\":0.004}\n",
      "{\"record\":\"ceiling\",\"name\":\"gemm\",\"median_s\":1,\"flops_per_s\":8e14}\n",
      "{\"operator\":\"gemm\",\"m\":16,\"record\":\"point\",\"group\":\"gemm\",\"median_s\":1e-5,\"noise\":0.01,"
      "\"flops\":4e9,\"bytes\":1e7}\n"};
  const std::string text = markdown(texts, {{"measure", "", Outcome::kCutOff, "exit 3", 1.5}});
  CHECK(text.find("| gemm | 2 | 1 | 2.00 |") != std::string::npos);
  CHECK(text.find("| measure |  | cut off | 1.5 | exit 3 |") != std::string::npos);
  CHECK(text.find("| gemm | operator:gemm m:16 | 10.00 | 1.00 | 400.0 | 50.0 | 1000.0 | 0.0 |") != std::string::npos);
}

TEST_CASE("the report tells the batches of whole steps apart") {
  PhaseTexts texts;
  texts.measurements =
      "{\"operator\":\"step\",\"record\":\"point\",\"group\":\"step\",\"parts\":[{\"operator\":\"gemm\","
      "\"m\":16,\"times\":32},{\"operator\":\"decode_attention\",\"head_dim\":128,\"sequences\":16,"
      "\"query_tokens\":16,\"context_tokens\":32768,\"times\":32}],\"median_s\":1e-2}\n";
  const std::string text = markdown(texts, {});
  CHECK(text.find("| operator:step decode_attention times:32 head_dim:128 sequences:16 query_tokens:16 "
                  "context_tokens:32768 |") != std::string::npos);
}

}  // namespace
}  // namespace servecast::kernels::gpu_check
