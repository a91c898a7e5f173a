#include <doctest/doctest.h>
#include <functional>
#include <stdexcept>
#include <string>

#include "kernels/cases/lists.hpp"

using namespace servecast::kernels;

namespace {

// A sound operation of each kind, its operands in place.
template <class Op>
const Op& sound(const Case& subject) {
  return std::get<Op>(subject.operation());
}

template <class Op>
Case first_case(CaseSet set) {
  for (const CaseShape& shape : case_shapes(set)) {
    if (std::holds_alternative<Op>(shape.operation)) return Case(shape);
  }
  throw std::logic_error("no such case");
}

template <class Op>
using Break = std::pair<std::function<void(Op&)>, std::string>;

// Each way to break a sound operation is refused with its sentence.
template <class Op>
void refuses(const std::vector<Break<Op>>& breaks, CaseSet set = CaseSet::kCuda) {
  const Case subject = first_case<Op>(set);
  CHECK_MESSAGE(validate(sound<Op>(subject)).ok(), validate(sound<Op>(subject)).message());
  for (const auto& [apply, problem] : breaks) {
    Op op = sound<Op>(subject);
    apply(op);
    const Status status = validate(op);
    CHECK(status.code() == Status::Code::kInvalid);
    std::string message(name_of(Operation(op)));
    CHECK(status.message() == message.append(": ").append(problem));
  }
}

constexpr std::int32_t kHuge = 2'000'000'000;

}  // namespace

TEST_CASE("prefill attention that contradicts itself is refused") {
  const std::vector<SequenceSpan> none = {{0, 3}};
  const std::vector<SequenceSpan> negative = {{1, 0}, {3, -1}};
  const std::vector<SequenceSpan> longest = {{1, 0}, {3, 100'000}};
  const std::vector<SequenceSpan> overflowing = {{kHuge, kHuge}};
  refuses<PrefillAttention>({
      {[](auto& op) { op.type = DType::kInt8; }, "type is int8, and must be f32, f16 or bf16"},
      {[](auto& op) { op.heads = 0; }, "heads is 0, and must be at least 1"},
      {[](auto& op) { op.kv.kv_heads = 0; }, "kv_heads is 0, and must be at least 1"},
      {[](auto& op) { op.heads = op.kv.kv_heads * 2 + 1; }, "heads is no multiple of kv_heads"},
      {[](auto& op) { op.window = -1; }, "window is -1, and must be at least 0"},
      {[](auto& op) { op.kv.head_dim = 0; }, "head_dim is 0, and must be at least 1"},
      {[](auto& op) { op.kv.page_size = -16; }, "page_size is -16, and must be at least 1"},
      {[](auto& op) { op.kv.pages = 0; }, "pages is 0, and must be at least 1"},
      {[](auto& op) { op.kv.type = DType::kF32; }, "the cache is neither of the queries' type nor fp8 nor int8"},
      {[](auto& op) { op.kv.type = DType::kFp8, op.kv.key_scale = 0; }, "a scale of the fp8 cache is not positive"},
      {[](auto& op) { op.kv.pages = kHuge; }, "the cache would have more than 2^40 elements"},
      {[](auto& op) { op.table.width = 0; }, "the width of the block table is 0, and must be at least 1"},
      {[](auto& op) { op.sequences = {}; }, "there are no sequences"},
      {[&](auto& op) { op.sequences = none; }, "sequence 0 computes no token"},
      {[&](auto& op) { op.sequences = negative; }, "sequence 1 has a negative context"},
      {[&](auto& op) { op.sequences = overflowing; }, "sequence 0 has more than 2^31 - 1 tokens"},
      {[&](auto& op) { op.sequences = longest, op.kv.page_size = 16, op.table.width = 9; },
       "sequence 1 has 100003 tokens, and its row of the block table holds 144"},
      {[](auto& op) { op.queries = nullptr; }, "queries is missing"},
      {[](auto& op) { op.table.pages = nullptr; }, "block_table is missing"},
  });
}

TEST_CASE("decode attention that contradicts itself is refused") {
  const std::vector<SequenceSpan> uneven = {{4, 8}, {5, 8}};
  refuses<DecodeAttention>({
      {[](auto& op) { op.tokens = 65; }, "tokens is 65, and must be 1 to 64"},
      {[](auto& op) { op.splits = 0; }, "splits is 0, and must be at least 1"},
      {[&](auto& op) { op.sequences = uneven, op.tokens = 4; }, "a sequence's query is not tokens"},
      {[](auto& op) { op.window = op.tokens - 1 > 0 ? op.tokens - 1 : -1; },
       "the window is shorter than the new tokens"},
      {[](auto& op) { op.splits = kHuge; }, "queries and partial results would have more than 2^40 elements"},
      {[](auto& op) { op.tree = true, op.ancestors = nullptr; }, "ancestors is missing"},
      {[](auto& op) { op.splits = 2, op.workspace = nullptr; }, "workspace is missing"},
      {[](auto& op) { op.out = nullptr; }, "out is missing"},
  });
}

TEST_CASE("latent and naive attention that contradict themselves are refused") {
  refuses<LatentDecodeAttention>({
      {[](auto& op) { op.latent = 0; }, "latent is 0, and must be at least 1"},
      {[](auto& op) { op.rope = -1; }, "rope is -1, and must be at least 0"},
      {[](auto& op) { op.page_size = 0; }, "page_size is 0, and must be at least 1"},
      {[](auto& op) { op.pages = kHuge; }, "the cache would have more than 2^40 elements"},
      {[](auto& op) { op.cache = nullptr; }, "cache is missing"},
  });
  refuses<NaiveAttention>({
      {[](auto& op) { op.key_tokens = op.query_tokens - 1; }, "there are fewer keys than queries"},
      {[](auto& op) { op.kv_heads = op.heads + 1; }, "heads is no multiple of kv_heads"},
      {[](auto& op) { op.query_tokens = op.key_tokens = kHuge; }, "scores would have more than 2^40 elements"},
      {[](auto& op) { op.scores = nullptr; }, "scores is missing"},
  });
}

TEST_CASE("cache operations that contradict themselves are refused") {
  refuses<AppendKv>({
      {[](auto& op) { op.rotary = 3; }, "rotary is odd"},
      {[](auto& op) { op.rotary = op.kv.head_dim + 2; }, "rotary is 66, and must be 0 to 64"},
      {[](auto& op) { op.rotary = 2, op.max_position = 0; }, "max_position is 0, and must be at least 1"},
      {[](auto& op) { op.kv.type = DType::kInt4; }, "the cache is neither of the keys' type nor fp8 nor int8"},
      {[](auto& op) { op.slots = nullptr; }, "slots is missing"},
  });
  refuses<CopyBlocks>({
      {[](auto& op) { op.block_bytes = 24; }, "block_bytes is no multiple of 16"},
      {[](auto& op) { op.pairs = -1; }, "pairs is -1, and must be at least 0"},
      {[](auto& op) { op.pairs = op.blocks; }, "there are as many copies as blocks, and each needs a source beside"},
      {[](auto& op) { op.cache = nullptr; }, "cache is missing"},
  });
  refuses<GatherBlocks>({
      {[](auto& op) { op.block_bytes = 0; }, "block_bytes is 0, and must be at least 16"},
      {[](auto& op) { op.count = op.blocks + 1; }, "the list is longer than the cache, and names each block once"},
      {[](auto& op) { op.packed = nullptr; }, "packed is missing"},
  });
}

TEST_CASE("products that contradict themselves are refused") {
  refuses<Gemm>({
      {[](auto& op) { op.m = 0; }, "m is 0, and must be at least 1"},
      {[](auto& op) { op.weight_type = DType::kFp8; }, "the weights are neither of x's type nor int8 nor int4"},
      {[](auto& op) { op.type = DType::kFp8, op.weight_type = DType::kBf16; }, "x is fp8, and the weights are not"},
      {[](auto& op) { op.weight_type = DType::kInt4, op.k = 96, op.group = 64; }, "group does not divide k"},
      {[](auto& op) { op.weight_type = DType::kInt4, op.group = 0; }, "group is 0, and must be at least 1"},
      {[](auto& op) { op.weight_type = DType::kInt4, op.k = op.group = 5; },
       "k is odd, and a row of int4 weights ends inside a byte"},
      {[](auto& op) { op.layout = WeightLayout::kPanels, op.weight_type = op.type; }, "panels hold f32 weights only"},
      {[](auto& op) { op.workspace_bytes = -1; }, "workspace_bytes is -1, and must be at least 0"},
      {[](auto& op) { op.n = op.k = kHuge; }, "the weights would have more than 2^40 elements"},
      {[](auto& op) { op.y = nullptr; }, "y is missing"},
  });
  refuses<GroupedGemm>({
      {[](auto& op) { op.gathers = false, op.x_rows = op.rows + 1; }, "without gather, x has as many rows as y"},
      {[](auto& op) { op.groups = 0; }, "groups is 0, and must be at least 1"},
      {[](auto& op) { op.offsets = nullptr; }, "offsets is missing"},
  });
}

TEST_CASE("norms, activations and embeddings that contradict themselves are refused") {
  refuses<RmsNorm>({
      {[](auto& op) { op.width = 0; }, "width is 0, and must be at least 1"},
      {[](auto& op) { op.epsilon = -1; }, "epsilon is not zero or more"},
      {[](auto& op) { op.adds_residual = true, op.residual = nullptr; }, "residual is missing"},
  });
  refuses<Activation>({
      {[](auto& op) { op.rows = op.width = kHuge; }, "x would have more than 2^40 elements"},
      {[](auto& op) { op.x = nullptr; }, "x is missing"},
  });
  refuses<Embedding>({
      {[](auto& op) { op.vocabulary = 0; }, "vocabulary is 0, and must be at least 1"},
      {[](auto& op) { op.ids = nullptr; }, "ids is missing"},
  });
}

TEST_CASE("choices that contradict themselves are refused") {
  refuses<RouteExperts>({
      {[](auto& op) { op.experts = 513; }, "experts is 513, and must be 1 to 512"},
      {[](auto& op) { op.chosen = 17, op.experts = 64; }, "chosen is 17, and must be 1 to 16"},
      {[](auto& op) { op.chosen = 9, op.experts = 8; }, "more experts are chosen than there are"},
      {[](auto& op) { op.tokens = kHuge, op.chosen = 4, op.experts = 8; },
       "tokens times chosen is 8000000000, and must be 1 to 2147483647"},
  });
  refuses<CombineExperts>({
      {[](auto& op) { op.chosen = 0; }, "chosen is 0, and must be 1 to 16"},
      {[](auto& op) { op.positions = nullptr; }, "positions is missing"},
  });
  refuses<Sample>({
      {[](auto& op) { op.top_k = op.vocabulary + 1, op.vocabulary = 31, op.top_k = 32; },
       "top_k is 32, and must be 0 to 31"},
      {[](auto& op) { op.top_p = 0; }, "top_p is not in (0, 1]"},
      {[](auto& op) { op.temperature = -0.5F; }, "temperature is not a number of zero or more"},
      {[](auto& op) { op.type = DType::kFp8; }, "type is fp8, and must be f32, f16 or bf16"},
  });
  refuses<VerifyDraft>({
      {[](auto& op) { op.drafted = 64; }, "drafted is 64, and must be 1 to 63"},
      {[](auto& op) { op.target = nullptr; }, "target is missing"},
  });
}

TEST_CASE("an operand that the shape does not have need not be there") {
  Case subject = first_case<Gemm>(CaseSet::kCuda);
  Gemm op = sound<Gemm>(subject);
  CHECK(op.workspace == nullptr);
  CHECK(validate(op).ok());
  op.weight_type = DType::kInt8;
  op.scales = nullptr;
  CHECK(validate(op).message() == "gemm: scales is missing");
}

TEST_CASE("splits fill the processors and keep 64 keys each") {
  CHECK(splits_for(132, 100'000, 132) == 1);
  CHECK(splits_for(500, 100'000, 132) == 1);
  CHECK(splits_for(8, 100'000, 132) == 17);
  CHECK(splits_for(1, 100'000, 132) == 132);
  CHECK(splits_for(1, 640, 132) == 10);
  CHECK(splits_for(1, 63, 132) == 1);
  CHECK(splits_for(1, 0, 132) == 1);
}
