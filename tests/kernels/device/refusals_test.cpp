// What the launchers of the CUDA kernels refuse, each by name: before a kernel starts, and on a GPU as under emulation.
#include <doctest/doctest.h>
#include <string>
#include <vector>

#include "kernels/cases/case.hpp"
#include "kernels/emulation/backend.hpp"

using namespace servecast::kernels;

namespace {

const std::vector<SequenceSpan> kOne = {{1, 20}};

Status answer(int architecture, const Operation& operation) {
  EmulationOptions options;
  options.emulator.architecture = architecture;
  return make_emulated_backend(options)->launch(operation, nullptr);
}

std::string refusal(int architecture, const Operation& operation, const std::vector<SequenceSpan>& sequences = {}) {
  const Case subject({"refused", operation, sequences, 3});
  const Status status = answer(architecture, subject.operation());
  CHECK(status.code() == Status::Code::kUnsupported);
  return status.message();
}

// What is said of the operand `name` where it begins half an access too late.
std::string misaligned(const Operation& operation, std::string_view name,
                       const std::vector<SequenceSpan>& sequences = {}) {
  const Case subject({"misaligned", operation, sequences, 3});
  CHECK(answer(90, subject.operation()).ok());
  Operation moved = subject.operation();
  for_each_buffer(moved, [&](const Buffer& buffer, auto*& data) {
    using Pointer = std::remove_reference_t<decltype(data)>;
    if (buffer.name == name) data = reinterpret_cast<Pointer>(reinterpret_cast<std::uintptr_t>(data) + 8);
  });
  const Status status = answer(90, moved);
  CHECK(status.code() == Status::Code::kInvalid);
  return status.message();
}

void check_misaligned(const Operation& operation, const std::vector<std::string>& names,
                      const std::vector<SequenceSpan>& sequences = {}) {
  for (const std::string& name : names) {
    CHECK(misaligned(operation, name, sequences) == name + ": the operand begins on no multiple of 16 bytes");
  }
}

Gemm gemm(DType type, std::int32_t n = 8) {
  Gemm op;
  op.type = op.weight_type = type;
  op.n = n;
  op.k = 8;
  return op;
}

template <class Op>
Op attention(DType type, std::int32_t head_dim = 64) {
  Op op;
  op.type = op.kv.type = type;
  op.kv.head_dim = head_dim;
  return op;
}

template <class Op>
void check_shapes_refused() {
  Op op = attention<Op>(DType::kBf16, 96);
  CHECK(refusal(90, op, kOne) == "attention on CUDA has head_dim 64, 128 and 256, not 96");
  op = attention<Op>(DType::kBf16);
  op.kv.page_size = 12;
  CHECK(refusal(90, op, kOne) == "attention on CUDA needs a power of two as page size, not 12");
  op = attention<Op>(DType::kBf16);
  op.scale = 0;
  CHECK(refusal(90, op, kOne) == "attention on CUDA needs a positive scale of the scores");
  op = attention<Op>(DType::kF16, 256);
  CHECK(refusal(75, op, kOne) == "head_dim 256 needs sm_80 or later; sm_75 has 64 and 128");
  op = attention<Op>(DType::kF16);
  op.kv.type = DType::kFp8;
  CHECK(refusal(75, op, kOne) == "fp8 needs sm_80 or later; sm_75 has fp16 and int8");
  CHECK(refusal(75, attention<Op>(DType::kBf16), kOne) == "bf16 needs sm_80 or later; sm_75 has fp16");
}

}  // namespace

TEST_CASE("what an architecture or the back end lacks is refused by name") {
  CHECK(refusal(75, gemm(DType::kBf16)) == "bf16 needs sm_80 or later; sm_75 has fp16");
  CHECK(refusal(75, RmsNorm{}) == "bf16 needs sm_80 or later; sm_75 has fp16");
  CHECK(refusal(75, gemm(DType::kFp8)) == "fp8 needs sm_80 or later; sm_75 has fp16 and int8");
  CHECK(refusal(90, gemm(DType::kF32)) == "f32 is not a type of the CUDA set, which computes in bf16 and f16");
  Gemm by_library = gemm(DType::kBf16);
  by_library.method = GemmMethod::kLibrary;
  CHECK(refusal(90, by_library) == "cuBLASLt does not run under emulation; our own product does");
  Gemm small_groups = gemm(DType::kBf16);
  small_groups.weight_type = DType::kInt4;
  small_groups.group = 4;
  CHECK(refusal(90, small_groups) == "int4 weights need groups of a multiple of 8 elements");
  AppendKv append;
  append.type = DType::kF16;
  append.kv.type = DType::kFp8;
  append.kv.pages = 1;
  CHECK(refusal(75, append) == "fp8 needs sm_80 or later; sm_75 has fp16 and int8");
}

TEST_CASE("prefill and decode refuse the shapes, scales and caches that they have no kernel for") {
  check_shapes_refused<PrefillAttention>();
  check_shapes_refused<DecodeAttention>();
}

TEST_CASE("latent decode refuses sm_75, and shapes, pages and scales that it has no kernel for") {
  LatentDecodeAttention op;
  op.type = DType::kF16;
  CHECK(refusal(75, op, kOne) == "latent_decode_attention needs sm_80 or later");
  op.latent = 256;
  CHECK(refusal(90, op, kOne) == "latent_decode_attention on CUDA has latent 512 with rope 64, not 256 with 64");
  op.latent = 512;
  op.page_size = 12;
  CHECK(refusal(90, op, kOne) == "attention on CUDA needs a power of two as page size, not 12");
  op.page_size = 16;
  op.scale = -1;
  CHECK(refusal(90, op, kOne) == "attention on CUDA needs a positive scale of the scores");
}

TEST_CASE("operands that are moved by 16 bytes must begin on 16 bytes") {
  PrefillAttention prefill = attention<PrefillAttention>(DType::kBf16);
  check_misaligned(prefill, {"queries", "keys", "values", "out"}, {{3, 20}});
  DecodeAttention decode = attention<DecodeAttention>(DType::kBf16);
  decode.splits = 2;
  check_misaligned(decode, {"queries", "keys", "values", "workspace", "out"}, kOne);
  LatentDecodeAttention latent;
  latent.splits = 2;
  check_misaligned(latent, {"queries", "cache", "workspace", "out"}, kOne);
  CopyBlocks copy;
  copy.pairs = 1;
  copy.blocks = 4;
  copy.block_bytes = 32;
  check_misaligned(copy, {"cache"});
  GatherBlocks gather;
  gather.count = 2;
  gather.blocks = 4;
  gather.block_bytes = 32;
  for (const bool scatter : {false, true}) {
    gather.scatter = scatter;
    check_misaligned(gather, {"cache", "packed"});
  }
}

TEST_CASE("more blocks than a grid's axis holds are refused by name") {
  const std::string holds = " blocks along an axis of the grid, which holds 65535";
  CHECK(refusal(90, gemm(DType::kBf16, 65535 * 64 + 1)) == "columns of a product take 65536" + holds);
  NaiveAttention naive;
  naive.head_dim = 1;
  naive.heads = 65536;
  CHECK(refusal(90, naive) == "heads take 65536" + holds);
  AppendKv append;
  append.heads = 65535 * 32;
  append.kv.head_dim = 1;
  append.rotary = 0;
  append.kv.pages = 1;
  CHECK(refusal(90, append) == "heads take 65536" + holds);
}
