#include "kernels/gpu_check/options.hpp"

#include <doctest/doctest.h>
#include <vector>

namespace servecast::kernels::gpu_check {
namespace {

std::string problem_of(std::vector<const char*> arguments) {
  Options options;
  return parse(arguments, options).message();
}

TEST_CASE("options are read with their values") {
  Options options;
  const std::vector<const char*> arguments{"--backend", "emulation", "--smoke", "--budget", "4min", "--out",
                                           "x",         "--only",    "gemm",    "--seed",   "7",    "--eager"};
  REQUIRE(parse(arguments, options).ok());
  CHECK(options.backend == "emulation");
  CHECK(options.smoke);
  CHECK(options.eager);
  CHECK(options.budget_s == 240);
  CHECK(options.out == "x");
  CHECK(options.only == "gemm");
  CHECK(options.seed == 7);
}

TEST_CASE("what is no option, value or time is named") {
  CHECK(problem_of({"--backend", "tpu"}) == "no back end 'tpu'");
  CHECK(problem_of({"--phase", "lunch"}) == "no phase 'lunch'");
  CHECK(problem_of({"--only", "gem"}).starts_with("no operator 'gem'; there are prefill_attention, "));
  CHECK(problem_of({"--exclude", "gemm,gem"}).starts_with("no operator 'gem'; "));
  CHECK(problem_of({"--only", "gemm", "--exclude", "sample,rms_norm"}).empty());
  CHECK(problem_of({"--nonsense", "1"}) == "no option '--nonsense'");
  CHECK(problem_of({"--out"}) == "no value, or no such option: '--out'");
  for (const char* time : {"", "fast", "0", "-3s", "4h", "nan"}) CHECK_FALSE(problem_of({"--budget", time}).empty());
  CHECK_FALSE(problem_of({"--seed", "x1"}).empty());
}

}  // namespace
}  // namespace servecast::kernels::gpu_check
