// The CUDA kernels, compiled as C++, on every case of their lists: with lazy and with eager asynchronous copies, warps
// and blocks in an order drawn anew for each case.
#include <doctest/doctest.h>
#include <memory>
#include <vector>

#include "kernels/emulation/backend.hpp"
#include "tests/kernels/support/case_run.hpp"

using namespace servecast::kernels;

namespace {

std::vector<std::unique_ptr<Backend>> lazy_and_eager(int architecture, std::uint64_t seed) {
  std::vector<std::unique_ptr<Backend>> backends;
  for (const auto copies : {emulation::AsyncCopy::kLazy, emulation::AsyncCopy::kEager}) {
    EmulationOptions options;
    options.emulator.architecture = architecture;
    options.emulator.async_copy = copies;
    options.emulator.seed = seed;
    backends.push_back(make_emulated_backend(options));
  }
  return backends;
}

void check_emulated(std::string_view operation) {
  check_cases(CaseSet::kCuda, operation, [](std::size_t i) { return lazy_and_eager(90, i + 1); });
}

// 99 KB of shared memory a block: the least that bf16 kernels get, and so other tiles.
void check_emulated_86(std::string_view operation) {
  check_cases(CaseSet::kCuda, operation, [](std::size_t i) { return lazy_and_eager(86, i + 1); });
}

void check_emulated_75(std::string_view operation) {
  check_cases(CaseSet::kCuda75, operation, [](std::size_t i) { return lazy_and_eager(75, i + 1); });
}

}  // namespace

TEST_CASE("CUDA kernels in emulation: prefill attention") { check_emulated("prefill_attention"); }

TEST_CASE("CUDA kernels in emulation: decode and verification") { check_emulated("decode_attention"); }

TEST_CASE("CUDA kernels in emulation: latent decode") { check_emulated("latent_decode_attention"); }

TEST_CASE("CUDA kernels in emulation: naive attention") { check_emulated("naive_attention"); }

TEST_CASE("CUDA kernels in emulation: appending to the cache") { check_emulated("append_kv"); }

TEST_CASE("CUDA kernels in emulation: copying blocks") { check_emulated("copy_blocks"); }

TEST_CASE("CUDA kernels in emulation: gathering and scattering blocks") { check_emulated("gather_blocks"); }

TEST_CASE("CUDA kernels in emulation: RMSNorm") { check_emulated("rms_norm"); }

TEST_CASE("CUDA kernels in emulation: activations") { check_emulated("activation"); }

TEST_CASE("CUDA kernels in emulation: embedding") { check_emulated("embedding"); }

TEST_CASE("CUDA kernels in emulation: products") { check_emulated("gemm"); }

TEST_CASE("CUDA kernels in emulation: grouped products") { check_emulated("grouped_gemm"); }

TEST_CASE("CUDA kernels in emulation: routing") { check_emulated("route_experts"); }

TEST_CASE("CUDA kernels in emulation: combining experts") { check_emulated("combine_experts"); }

TEST_CASE("CUDA kernels in emulation: sampling") { check_emulated("sample"); }

TEST_CASE("CUDA kernels in emulation: verifying drafts") { check_emulated("verify_draft"); }

TEST_CASE("sm_86 kernels in emulation: prefill attention") { check_emulated_86("prefill_attention"); }

TEST_CASE("sm_86 kernels in emulation: decode and verification") { check_emulated_86("decode_attention"); }

TEST_CASE("sm_86 kernels in emulation: latent decode") { check_emulated_86("latent_decode_attention"); }

TEST_CASE("sm_75 kernels in emulation: prefill attention") { check_emulated_75("prefill_attention"); }

TEST_CASE("sm_75 kernels in emulation: decode and verification") { check_emulated_75("decode_attention"); }

TEST_CASE("sm_75 kernels in emulation: appending to the cache") { check_emulated_75("append_kv"); }

TEST_CASE("sm_75 kernels in emulation: everything that is not attention") {
  for (const std::string_view operation :
       {"naive_attention", "copy_blocks", "gather_blocks", "rms_norm", "activation", "embedding", "gemm",
        "grouped_gemm", "route_experts", "combine_experts", "sample", "verify_draft"}) {
    check_emulated_75(operation);
  }
}
