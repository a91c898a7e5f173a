// FLOPs of prefill and of the matrices.
#include <vector>

#include "tests/figures/figure.hpp"

using namespace servecast;
using namespace servecast::figures;

namespace {

ClosedForm llama() { return ClosedForm::of(shipped_model("llama-3.1-8b"), {}); }

// FLOPs that one token costs in the matrices of all layers, from the operators.
double matrix_flops(const ModelShape& model) {
  std::vector<Operator> list;
  StepWork(model, {}, 1).append_token_operators(1, list);
  double sum = 0;
  for (const Operator& op : list) sum += op.total().flops;
  return sum;
}

}  // namespace

TEST_CASE("S0-23: prefills cost 61.57, 738.89 and 6333.26 TFLOP, 7.14, 38.09 and 71.11 % of it attention") {
  const auto tera = [](double tokens) { return printed(llama().prefill_flops(tokens) / 1e12, 2); };
  CHECK(tera(4096) == "61.57");
  CHECK(tera(32'768) == "738.89");
  CHECK(tera(131'072) == "6333.26");
  const auto attention = [](double tokens) {
    return printed(100 * llama().prefill_attention_flops(tokens) / llama().prefill_flops(tokens), 2);
  };
  CHECK(attention(4096) == "7.14");
  CHECK(attention(32'768) == "38.09");
  CHECK(attention(131'072) == "71.11");
}

TEST_CASE("S0-24: attention costs as much as the matrices at 53,250.03 tokens") {
  CHECK(count_parameters(shipped_model("llama-3.1-8b")).non_embedding == 6'979'588'096);
  CHECK(printed(llama().cut_point(), 2) == "53250.03");
  CHECK(llama().prefill_attention_flops(llama().cut_point()) == closed(llama().prefill_flops(llama().cut_point()) / 2));
}

TEST_CASE("S0-42: 8,000 tokens cost 128.45 TFLOP: 412 ms at an A100's peak, 823 ms at half of it, 130 ms on an H100") {
  const double flops = llama().prefill_flops(8000);
  CHECK(printed(flops / 1e12, 2) == "128.45");
  const double a100 = shipped_device("a100-80g-sxm").peak_of(DType::kBf16);
  CHECK(printed(1e3 * flops / a100, 0) == "412");
  CHECK(printed(1e3 * flops / (a100 / 2), 0) == "823");
  CHECK(printed(1e3 * flops / shipped_device("h100-sxm").peak_of(DType::kBf16), 0) == "130");
}

TEST_CASE("S0-42: the operators' bound of the same prefill lies within 1 % of the closed form") {
  // They add the diagonal of the scores and one row of the LM head.
  const PrefillChunk chunk{Tokens{8000}, Tokens{0}};
  const RooflineModel roofline(shipped_model("llama-3.1-8b"), shipped_device("a100-80g-sxm"), {});
  const RooflineBound bound = roofline.bound(prefill_step(chunk));
  CHECK(bound.compute_s > bound.memory_s);
  CHECK(bound.compute_s == doctest::Approx(0.4117).epsilon(0.01).scale(0));
}

TEST_CASE("S2-04: a layer of width 4096 costs 24 D^2 = 402.65 MFLOP a token, one of Llama-3.1-8B 436.21") {
  const ModelShape llama3 = shipped_model("llama-3.1-8b");
  CHECK(printed(matrix_flops(llama3) / real(llama3.layer_count()) / 1e6, 2) == "436.21");
  ModelShape textbook;
  textbook.hidden = 4096;
  textbook.vocab = 1;
  textbook.norms_per_layer = 2;
  Attention attention;
  attention.query_heads = attention.kv_heads = 32;
  attention.head_dim = 128;
  FeedForward feed_forward;
  feed_forward.width = 4 * 4096;
  feed_forward.gated = false;
  textbook.add_layer(attention, feed_forward);
  CHECK(matrix_flops(textbook) == 24.0 * 4096 * 4096);
  CHECK(printed(matrix_flops(textbook) / 1e6, 2) == "402.65");
}

TEST_CASE("F11: attention is counted causally: 2 n^2 D a layer, half of the square's 4 n^2 D") {
  const ModelShape model = shipped_model("llama-2-7b");
  const StepWork work(model, {}, 1);
  const PrefillChunk chunk{Tokens{4096}, Tokens{0}};
  const double n = 4096;
  const double causal = 4.0 * 4096 * n * (n + 1) / 2;  // with the diagonal
  CHECK(work.prefill_attention(0, {&chunk, 1}).work.flops == causal);
  CHECK(ClosedForm::of(model, {}).prefill_attention_flops(n) == closed(real(model.layer_count()) * 2 * n * n * 4096));
}

TEST_CASE("S2-07: 4096 tokens cost 61.57 TFLOP: 197 ms at an A100's peak, 62 ms at an H100's") {
  const double flops = llama().prefill_flops(4096);
  CHECK(printed(1e3 * flops / shipped_device("a100-80g-sxm").peak_of(DType::kBf16), 0) == "197");
  CHECK(printed(1e3 * flops / shipped_device("h100-sxm").peak_of(DType::kBf16), 0) == "62");
}
