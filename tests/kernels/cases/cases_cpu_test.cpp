// The CPU set on every case of its list, with one thread and with two, in each instruction set this machine has.
#include <doctest/doctest.h>
#include <memory>
#include <vector>

#include "kernels/cpu/backend.hpp"
#include "tests/kernels/support/case_run.hpp"

using namespace servecast::kernels;

namespace {

std::vector<std::unique_ptr<Backend>> all_backends() {
  std::vector<std::unique_ptr<Backend>> backends;
  for (const CpuOptions& options : {CpuOptions{}, CpuOptions{2, false, {}}, CpuOptions{1, true, cpu::Isa::kPortable},
                                    CpuOptions{1, true, cpu::Isa::kAvx2}, CpuOptions{1, true, cpu::Isa::kAvx512}}) {
    std::unique_ptr<Backend> backend = make_cpu_backend(options);
    CHECK((backend != nullptr) == (!options.isa || cpu::supported(*options.isa)));
    if (backend != nullptr) backends.push_back(std::move(backend));
  }
  return backends;
}

void check_cpu(std::string_view operation) {
  const std::vector<std::unique_ptr<Backend>> backends = all_backends();
  std::vector<Backend*> each;
  for (const auto& backend : backends) each.push_back(backend.get());
  check_cases(CaseSet::kCpu, operation, [&](std::size_t) { return each; });
}

}  // namespace

TEST_CASE("CPU kernels: prefill attention") { check_cpu("prefill_attention"); }

TEST_CASE("CPU kernels: decode and verification") { check_cpu("decode_attention"); }

TEST_CASE("CPU kernels: latent decode") { check_cpu("latent_decode_attention"); }

TEST_CASE("CPU kernels: naive attention") { check_cpu("naive_attention"); }

TEST_CASE("CPU kernels: appending to the cache") { check_cpu("append_kv"); }

TEST_CASE("CPU kernels: copying blocks") { check_cpu("copy_blocks"); }

TEST_CASE("CPU kernels: gathering and scattering blocks") { check_cpu("gather_blocks"); }

TEST_CASE("CPU kernels: RMSNorm") { check_cpu("rms_norm"); }

TEST_CASE("CPU kernels: activations") { check_cpu("activation"); }

TEST_CASE("CPU kernels: embedding") { check_cpu("embedding"); }

TEST_CASE("CPU kernels: products") { check_cpu("gemm"); }

TEST_CASE("CPU kernels: grouped products") { check_cpu("grouped_gemm"); }

TEST_CASE("CPU kernels: routing") { check_cpu("route_experts"); }

TEST_CASE("CPU kernels: combining experts") { check_cpu("combine_experts"); }

TEST_CASE("CPU kernels: sampling") { check_cpu("sample"); }

TEST_CASE("CPU kernels: verifying drafts") { check_cpu("verify_draft"); }
