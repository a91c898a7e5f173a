// Every case of the CUDA kernels in several orders of warps and blocks, with the limits of every architecture.
#include <doctest/doctest.h>
#include <memory>
#include <vector>

#include "kernels/emulation/backend.hpp"
#include "tests/kernels/support/case_run.hpp"

using namespace servecast::kernels;

namespace {

constexpr std::uint64_t kFirstSeed = 1000;  // apart from those of the quick runs

void check_orders(int architecture, CaseSet set) {
  const auto backends = [&](std::size_t i) {
    std::vector<std::unique_ptr<Backend>> each;
    for (std::uint64_t order = 0; order < 4; ++order) {
      EmulationOptions options;
      options.emulator.architecture = architecture;
      options.emulator.async_copy = order % 2 == 0 ? emulation::AsyncCopy::kLazy : emulation::AsyncCopy::kEager;
      options.emulator.seed = kFirstSeed + 4 * i + order;
      each.push_back(make_emulated_backend(options));
    }
    return each;
  };
  for (const std::string_view operation :
       {"prefill_attention", "decode_attention", "naive_attention", "append_kv", "copy_blocks", "gather_blocks",
        "rms_norm", "activation", "embedding", "gemm", "grouped_gemm", "route_experts", "combine_experts", "sample",
        "verify_draft"}) {
    check_cases(set, operation, backends);
  }
  if (set != CaseSet::kCuda75) check_cases(set, "latent_decode_attention", backends);  // which sm_75 lacks
}

}  // namespace

TEST_CASE("CUDA kernels in four orders with the limits of sm_75") { check_orders(75, CaseSet::kCuda75); }

TEST_CASE("CUDA kernels in four orders with the limits of sm_80") { check_orders(80, CaseSet::kCuda); }

TEST_CASE("CUDA kernels in four orders with the limits of sm_86") { check_orders(86, CaseSet::kCuda); }

TEST_CASE("CUDA kernels in four orders with the limits of sm_89") { check_orders(89, CaseSet::kCuda); }

TEST_CASE("CUDA kernels in four orders with the limits of sm_90") { check_orders(90, CaseSet::kCuda); }

TEST_CASE("CUDA kernels in four orders with the limits of sm_100") { check_orders(100, CaseSet::kCuda); }

TEST_CASE("CUDA kernels in four orders with the limits of sm_120") { check_orders(120, CaseSet::kCuda); }
