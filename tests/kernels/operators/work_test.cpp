// The operators' work beside the cost model's, for whole layers: equal, or different by what is said here and why.
#include "costmodel/work.hpp"

#include <doctest/doctest.h>
#include <stdexcept>
#include <string>

#include "costmodel/model_config.hpp"
#include "kernels/operation.hpp"

namespace {

namespace k = servecast::kernels;
using servecast::ModelShape;
using servecast::StepShape;
using servecast::Tokens;

ModelShape model(const std::string& name) {
  return servecast::load_model(SERVECAST_SOURCE_DIR "/models/" + name + ".json");
}

// One launch of an operator of the cost model.
class Listed {
 public:
  Listed(const ModelShape& shape, const StepShape& step) : list_(servecast::StepWork(shape, {}, 1).operators(step)) {}

  [[nodiscard]] k::Work one(std::string_view name) const {
    for (const servecast::Operator& op : list_) {
      if (op.name == name) return {op.work.flops, op.work.memory_bytes()};
    }
    throw std::logic_error("the cost model has no such operator");
  }

 private:
  std::vector<servecast::Operator> list_;
};

void check_equal(const k::Work& ours, const k::Work& theirs, double more_flops = 0, double more_bytes = 0) {
  CHECK(ours.flops == doctest::Approx(theirs.flops + more_flops).epsilon(1e-12));
  CHECK(ours.bytes == doctest::Approx(theirs.bytes + more_bytes).epsilon(1e-12));
}

k::Gemm gemm(std::int64_t m, std::int64_t n, std::int64_t in) {
  k::Gemm op;
  op.m = static_cast<std::int32_t>(m);
  op.n = static_cast<std::int32_t>(n);
  op.k = static_cast<std::int32_t>(in);
  return op;
}

k::GroupedGemm grouped(std::int32_t groups, std::int32_t rows, std::int32_t x_rows, std::int32_t n, std::int32_t in) {
  k::GroupedGemm op;
  op.groups = groups;
  op.rows = rows;
  op.x_rows = x_rows;
  op.n = n;
  op.k = in;
  op.gathers = rows != x_rows;
  return op;
}

k::PagedKv cache(std::int32_t heads, std::int32_t head_dim) {
  k::PagedKv kv;
  kv.kv_heads = heads;
  kv.head_dim = head_dim;
  return kv;
}

k::Activation silu(std::int32_t rows, std::int32_t width) {
  k::Activation op;
  op.rows = rows;
  op.width = width;
  return op;
}

k::Work operator+(k::Work a, const k::Work& b) { return {a.flops + b.flops, a.bytes + b.bytes}; }

const std::vector<servecast::PrefillChunk> kChunks = {{Tokens{300}, Tokens{1000}}, {Tokens{77}, Tokens{0}}};
const std::vector<k::SequenceSpan> kSpans = {{300, 1000}, {77, 0}};
constexpr std::int32_t kPrefillTokens = 377;

StepShape prefill_step() { return {kChunks, 0, Tokens{0}, Tokens{0}, 2}; }

StepShape decode_step(std::int64_t sequences, std::int64_t keys) {
  return {{}, sequences, Tokens{sequences * keys}, Tokens{sequences * keys}, sequences};
}

// Everything of a layer that depends on tokens alone, of a model with grouped-query attention.
void check_token_operators(const Listed& list, const ModelShape& shape, std::int32_t tokens) {
  const servecast::Attention& attention = shape.attentions[0];
  const auto hidden = static_cast<std::int32_t>(shape.hidden);
  const std::int64_t heads = attention.query_heads + 2 * attention.kv_heads;
  check_equal(work(gemm(tokens, heads * attention.head_dim, hidden)), list.one("qkv_projection"));
  check_equal(work(gemm(tokens, hidden, attention.query_heads * attention.head_dim)), list.one("output_projection"));
  k::AppendKv append;
  append.tokens = tokens;
  append.heads = static_cast<std::int32_t>(attention.query_heads);
  append.kv = cache(static_cast<std::int32_t>(attention.kv_heads), static_cast<std::int32_t>(attention.head_dim));
  check_equal(work(append), list.one("rope_and_kv_write"));
  k::Embedding embedding;
  embedding.tokens = tokens;
  embedding.width = hidden;
  check_equal(work(embedding), list.one("embedding"));
  k::RmsNorm norm;
  norm.rows = tokens;
  norm.width = hidden;
  check_equal(work(norm), list.one("final_norm"));
  // The cost model's norm finds in the cache what the kernel before it wrote, and leaves its output there. The
  // operator alone moves both: two more passes.
  norm.adds_residual = true;
  check_equal(work(norm), list.one("norms"), 0, 2.0 * 2 * tokens * hidden);
}

void check_attention(const Listed& prefill, const Listed& decode, const servecast::Attention& attention) {
  k::PrefillAttention chunks;
  chunks.heads = static_cast<std::int32_t>(attention.query_heads);
  chunks.kv = cache(static_cast<std::int32_t>(attention.kv_heads), static_cast<std::int32_t>(attention.head_dim));
  chunks.sequences = kSpans;
  check_equal(work(chunks), prefill.one("prefill_attention"));
  const std::vector<k::SequenceSpan> sequences(64, {1, 2047});  // 2048 keys with its own
  k::DecodeAttention step;
  step.heads = chunks.heads;
  step.kv = chunks.kv;
  step.sequences = sequences;
  check_equal(work(step), decode.one("decode_attention"));
}

}  // namespace

TEST_CASE("a Llama layer's operators do the cost model's work") {
  const ModelShape shape = model("llama-3.1-8b");
  const Listed prefill(shape, prefill_step());
  const Listed decode(shape, decode_step(64, 2048));
  check_attention(prefill, decode, shape.attentions[0]);
  for (const auto& [list, tokens] : {std::pair(&prefill, kPrefillTokens), std::pair(&decode, 64)}) {
    check_token_operators(*list, shape, tokens);
    check_equal(work(gemm(tokens, 2 * 14336, 4096)), list->one("mlp_up"));
    check_equal(work(silu(tokens, 14336)), list->one("mlp_activation"));
    check_equal(work(gemm(tokens, 4096, 14336)), list->one("mlp_down"));
  }
  check_equal(work(gemm(64, 128256, 4096)), decode.one("lm_head"));
  // The cost model's sampling writes probabilities and reads them again; the operator keeps them on the chip.
  k::Sample sample;
  sample.rows = 64;
  sample.vocabulary = 128256;
  check_equal(work(sample), decode.one("sampling"), 0, -2.0 * 4 * 64 * 128256);
}

TEST_CASE("a sliding window cuts the operators' work as it cuts the cost model's") {
  const ModelShape shape = model("gemma-2-9b");
  for (std::size_t kind = 0; kind < shape.attentions.size(); ++kind) {
    const servecast::Attention& attention = shape.attentions[kind];
    if (!attention.window) continue;
    const servecast::StepWork cost(shape, {}, 1);
    const std::vector<servecast::PrefillChunk> chunks = {{Tokens{3000}, Tokens{3000}}, {Tokens{5}, Tokens{9000}}};
    const std::vector<k::SequenceSpan> spans = {{3000, 3000}, {5, 9000}};
    k::PrefillAttention op;
    op.heads = static_cast<std::int32_t>(attention.query_heads);
    op.window = static_cast<std::int32_t>(attention.window->count());
    op.kv = cache(static_cast<std::int32_t>(attention.kv_heads), static_cast<std::int32_t>(attention.head_dim));
    op.sequences = spans;
    const servecast::Work listed = cost.prefill_attention(kind, chunks).work;
    check_equal(work(op), {listed.flops, listed.memory_bytes()});
  }
}

TEST_CASE("a Mixtral layer's operators do the cost model's work, but for what a fused kernel would save") {
  const ModelShape shape = model("mixtral-8x7b");
  const std::int32_t tokens = 4096;
  const std::vector<servecast::PrefillChunk> chunks = {{Tokens{tokens}, Tokens{0}}};
  const Listed list(shape, {chunks, 0, Tokens{0}, Tokens{0}, 1});
  const Listed decode(shape, decode_step(64, 2048));
  check_attention(Listed(shape, prefill_step()), decode, shape.attentions[0]);
  check_token_operators(list, shape, tokens);
  check_equal(work(gemm(tokens, 8, 4096)), list.one("router"));
  const std::int32_t rows = 2 * tokens;
  k::CombineExperts combine;
  combine.tokens = tokens;
  combine.chosen = 2;
  combine.width = 4096;
  const k::Work ours = work(grouped(8, rows, tokens, 2 * 14336, 4096)) + work(silu(rows, 14336)) +
                       work(grouped(8, rows, rows, 4096, 14336)) + work(combine);
  // Each intermediate is written by one kernel and read by the next, the cost model counts it once: gate and up, their
  // product, and the experts' answers. The combination reads its weights and positions too.
  const double twice = 2.0 * rows * (3 * 14336 + 4096) + 8.0 * rows;
  check_equal(ours, list.one("experts"), 0, twice);
}

TEST_CASE("a mixture's operator reads the weights of all its groups, the cost model those it expects to be chosen") {
  const ModelShape shape = model("mixtral-8x7b");
  const Listed list(shape, decode_step(1, 100));
  const double matrices = 3.0 * 4096 * 14336;
  const double one_token = list.one("experts").bytes - 2.0 * (2 * 4096 + 2 * (4096 + 3 * 14336));
  CHECK(one_token == doctest::Approx(2 * 2 * matrices).epsilon(1e-12));
  // The caller names the groups that got rows: with two groups the weights agree.
  const k::Work ours = work(grouped(2, 2, 1, 2 * 14336, 4096)) + work(grouped(2, 2, 2, 4096, 14336));
  const double activations = 2.0 * (4096 + 2 * 2 * 14336 + 2 * 14336 + 2 * 4096);
  CHECK(ours.bytes - activations == doctest::Approx(one_token).epsilon(1e-12));
}

TEST_CASE("a DeepSeek layer's absorbed decode does the cost model's work") {
  const ModelShape shape = model("deepseek-v3");
  const Listed list(shape, decode_step(64, 2048));
  const std::vector<k::SequenceSpan> sequences(64, {1, 2047});
  k::LatentDecodeAttention op;
  op.heads = 128;
  op.sequences = sequences;
  check_equal(work(op), list.one("decode_attention"));
  check_equal(work(gemm(64, 1536, 7168)), list.one("query_down"));
  // The norms of the latents go with the cost model's projection.
  check_equal(work(gemm(64, 576, 7168)), list.one("kv_down"), 0, -2.0 * (1536 + 512));
  check_equal(work(gemm(64, 128 * 192, 1536)), list.one("query_up"));
  check_equal(work(gemm(64, 7168, 128 * 128)), list.one("output_projection"));
  // Absorbed, the expansion is one product a head on each side of the attention: the same FLOPs and weights, but
  // its operands are queries and outputs a head instead of one latent vector a token.
  const k::Work absorbed =
      work(grouped(128, 64 * 128, 64 * 128, 512, 128)) + work(grouped(128, 64 * 128, 64 * 128, 128, 512));
  const double expanded = 64.0 * (512 + 128 * (128 + 128));
  check_equal(absorbed, list.one("kv_up"), 0, 2 * (2.0 * 64 * 128 * (512 + 128) - expanded));
}

TEST_CASE("a DeepSeek layer's prefill is counted with keys and values of one width") {
  const ModelShape shape = model("deepseek-v3");
  const Listed list(shape, prefill_step());
  // The operator has one head_dim: values of 128 are padded to the keys' 192. The cost model counts what is needed:
  // 2 · heads · (192 + 128) FLOPs a pair, and expands the context's latents again.
  k::PrefillAttention op;
  op.heads = 128;
  op.kv = cache(128, 192);
  op.sequences = kSpans;
  const double pairs = 300.0 * 1000 + 300.0 * 301 / 2 + 77.0 * 78 / 2;
  const double padding = 2.0 * 128 * 64 * pairs;
  const double expansion = 2.0 * 512 * 128 * 256 * 1000;
  // Context keys and values are read expanded, not as latents of 576; queries and outputs are as wide as keys.
  const double context = 2.0 * 1000 * (2 * 128 * 192 - 576);
  const double outputs = 2.0 * kPrefillTokens * 2 * 128 * 64;
  check_equal(work(op), list.one("prefill_attention"), padding - expansion, context + outputs);
}

TEST_CASE("verification reads the cache once for all its tokens") {
  std::vector<k::SequenceSpan> one = {{1, 1000}};
  std::vector<k::SequenceSpan> five = {{5, 1000}};
  k::DecodeAttention op;
  op.heads = 32;
  op.kv = cache(8, 128);
  op.sequences = one;
  const k::Work decode = work(op);
  op.tokens = 5;
  op.sequences = five;
  const k::Work verify = work(op);
  CHECK(verify.flops == 4.0 * 32 * 128 * (1001 + 1002 + 1003 + 1004 + 1005));
  CHECK(verify.bytes - decode.bytes == 2.0 * (4 * 2 * 8 * 128 + 4 * 2 * 32 * 128));
}

TEST_CASE("naive attention moves its scores four times") {
  k::NaiveAttention op;
  op.heads = 2;
  op.head_dim = 64;
  op.query_tokens = 10;
  op.key_tokens = 30;
  const double pairs = 10 * 20 + 55;
  check_equal(work(op), {4.0 * 2 * 64 * pairs, 2.0 * (2 * 10 * 128 + 2 * 30 * 64) + 4.0 * 4 * 2 * pairs});
}

TEST_CASE("quantised formats halve and quarter the bytes of weights and cache") {
  k::Gemm op = gemm(1, 1000, 1000);
  const double activations = 2 * 2000;
  CHECK(work(op).bytes == 2e6 + activations);
  op.weight_type = k::DType::kInt8;
  CHECK(work(op).bytes == 1e6 + activations);
  op.weight_type = k::DType::kInt4;
  CHECK(work(op).bytes == 5e5 + activations);
}

TEST_CASE("copies read and write each block once") {
  k::CopyBlocks copy;
  copy.pairs = 3;
  copy.block_bytes = 4096;
  CHECK(work(copy).bytes == 2.0 * 3 * 4096);
  k::GatherBlocks gather;
  gather.count = 5;
  gather.block_bytes = 4096;
  CHECK(work(gather).bytes == 2.0 * 5 * 4096);
}
