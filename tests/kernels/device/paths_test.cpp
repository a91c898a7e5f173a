// The ways through the CUDA kernels that the case lists, small as they are, do not take: rows that no vector access
// fits, tiles of every size, whole vocabularies.
#include <doctest/doctest.h>
#include <memory>
#include <tuple>

#include "kernels/emulation/backend.hpp"
#include "tests/kernels/support/case_run.hpp"

using namespace servecast::kernels;

namespace {

std::unique_ptr<Backend> emulated(int architecture, emulation::AsyncCopy copies = emulation::AsyncCopy::kLazy) {
  EmulationOptions options;
  options.emulator.architecture = architecture;
  options.emulator.async_copy = copies;
  options.emulator.seed = 5;
  return make_emulated_backend(options);
}

void check_on(Backend& backend, const Operation& operation) {
  const Case subject({describe(operation, {}), operation, {}, 3});
  const Verdict verdict = check(subject, backend, test_placement());
  CHECK_MESSAGE(verdict.ok(), subject.name(), ": ", verdict.problem);
}

void check_both(const Operation& operation) {
  for (const auto copies : {emulation::AsyncCopy::kLazy, emulation::AsyncCopy::kEager}) {
    check_on(*emulated(90, copies), operation);
  }
}

Gemm gemm(DType type, std::int32_t m, std::int32_t n, std::int32_t k) {
  Gemm op;
  op.type = op.weight_type = type;
  op.m = m;
  op.n = n;
  op.k = k;
  return op;
}

GroupedGemm grouped(std::int32_t groups, std::int32_t rows, std::int32_t n, std::int32_t k) {
  GroupedGemm op;
  op.groups = groups;
  op.rows = rows;
  op.x_rows = rows / 2 + 1;
  op.gathers = true;
  op.n = n;
  op.k = k;
  return op;
}

AppendKv append(DType cache, std::int32_t head_dim, std::int32_t rotary) {
  AppendKv op;
  op.kv.type = cache;
  op.heads = 6;
  op.tokens = 9;
  op.rotary = rotary;
  op.max_position = 100;
  op.kv.kv_heads = 2;
  op.kv.head_dim = head_dim;
  op.kv.pages = 4;
  op.kv.key_scale = op.kv.value_scale = cache == DType::kFp8 ? 0.02F : 1;
  return op;
}

}  // namespace

TEST_CASE("products of every tile, with ragged edges in all three dimensions") {
  for (const DType type : {DType::kBf16, DType::kF16}) {
    check_both(gemm(type, 3, 70, 136));
    check_both(gemm(type, 50, 70, 136));
    check_both(gemm(type, 257, 300, 200));
  }
  check_both(grouped(3, 500, 300, 136));
  check_both(grouped(200, 300, 40, 72));
}

TEST_CASE("products of rows that no vector access fits") {
  for (const auto& [m, n, k] : {std::tuple{33, 65, 77}, {3, 1, 1}, {20, 2, 3}, {130, 7, 65}}) {
    check_both(gemm(DType::kBf16, m, n, k));
    check_both(gemm(DType::kFp8, m, n, k));
  }
  check_both(grouped(5, 90, 33, 77));
  Gemm int8 = gemm(DType::kF16, 20, 70, 77);
  int8.weight_type = DType::kInt8;
  check_both(int8);
}

TEST_CASE("sm_75 multiplies the same shapes in fp16") {
  const auto backend = emulated(75);
  for (const std::int32_t m : {3, 130}) {
    for (const std::int32_t k : {77, 136}) check_on(*backend, gemm(DType::kF16, m, 70, k));
  }
}

TEST_CASE("heads that no vector access fits are rotated and stored as well") {
  for (const DType cache : {DType::kBf16, DType::kFp8, DType::kInt8}) {
    check_both(append(cache, 80, 20));
    check_both(append(cache, 5, 4));
  }
}

TEST_CASE("whole vocabularies are sampled and verified") {
  Sample sample;
  sample.rows = 2;
  sample.vocabulary = 151'936;
  check_both(sample);
  sample.temperature = 0.7F;
  check_both(sample);
  sample.top_k = 50;
  sample.top_p = 0.9F;
  check_both(sample);
  sample.type = DType::kBf16;
  sample.vocabulary = 262'144;
  sample.top_k = 200'000;
  sample.top_p = 1;
  check_both(sample);
  VerifyDraft verify;
  verify.sequences = 2;
  verify.drafted = 3;
  verify.vocabulary = 151'936;
  check_both(verify);
}
