#include <sstream>

#include "kernels/cases/lists.hpp"

namespace servecast::kernels {
namespace {

using Text = std::ostringstream;

void put(const PagedKv& kv, std::int32_t heads, Text& text) {
  text << " kv " << name_of(kv.type) << " heads " << heads << '/' << kv.kv_heads << " x " << kv.head_dim << " page "
       << kv.page_size;
}

void put(const std::vector<SequenceSpan>& sequences, Text& text) {
  text << " sequences";
  for (const SequenceSpan& span : sequences) text << ' ' << span.query << '+' << span.context;
}

void put(const PrefillAttention& op, Text& text) {
  text << name_of(op.type);
  put(op.kv, op.heads, text);
  text << " window " << op.window;
}

void put(const DecodeAttention& op, Text& text) {
  text << name_of(op.type);
  put(op.kv, op.heads, text);
  text << (op.tree ? " tree " : " chain ") << op.tokens << " splits " << op.splits << " window " << op.window;
}

void put(const LatentDecodeAttention& op, Text& text) {
  text << name_of(op.type) << " heads " << op.heads << " x " << op.latent << '+' << op.rope << " page " << op.page_size
       << " chain " << op.tokens << " splits " << op.splits;
}

void put(const NaiveAttention& op, Text& text) {
  text << name_of(op.type) << " heads " << op.heads << '/' << op.kv_heads << " x " << op.head_dim << " queries "
       << op.query_tokens << " keys " << op.key_tokens;
}

void put(const AppendKv& op, Text& text) {
  text << name_of(op.type);
  put(op.kv, op.heads, text);
  text << " tokens " << op.tokens << " rotary " << op.rotary;
}

void put(const CopyBlocks& op, Text& text) {
  text << op.pairs << " of " << op.blocks << " blocks of " << op.block_bytes << " bytes";
}

void put(const GatherBlocks& op, Text& text) {
  text << (op.scatter ? "scatter " : "gather ") << op.count << " of " << op.blocks << " blocks of " << op.block_bytes
       << " bytes";
}

void put(const RmsNorm& op, Text& text) {
  text << name_of(op.type) << ' ' << op.rows << " x " << op.width << (op.adds_residual ? " residual" : "")
       << " epsilon " << op.epsilon;
}

void put(const Activation& op, Text& text) {
  const char* kind = op.kind == ActivationKind::kSiluMul ? " silu-mul " : op.gated() ? " gelu-mul " : " gelu ";
  text << name_of(op.type) << kind << op.rows << " x " << op.width;
}

void put(const Embedding& op, Text& text) {
  text << name_of(op.type) << ' ' << op.tokens << " x " << op.width << " of " << op.vocabulary;
}

void put(const Gemm& op, Text& text) {
  text << name_of(op.type) << " weights " << name_of(op.weight_type)
       << (op.layout == WeightLayout::kPanels ? " panels" : "") << " m " << op.m << " n " << op.n << " k " << op.k;
  if (op.weight_type == DType::kInt4) text << " group " << op.group;
  if (op.method == GemmMethod::kLibrary) text << " library";
}

void put(const GroupedGemm& op, Text& text) {
  text << name_of(op.type) << " groups " << op.groups << " rows " << op.rows
       << (op.gathers ? " gathered from " : " of ") << op.x_rows << " n " << op.n << " k " << op.k;
}

void put(const RouteExperts& op, Text& text) {
  text << "tokens " << op.tokens << " experts " << op.chosen << " of " << op.experts
       << (op.renormalise ? " renormalised" : "");
}

void put(const CombineExperts& op, Text& text) {
  text << name_of(op.type) << " tokens " << op.tokens << " chosen " << op.chosen << " width " << op.width;
}

void put(const Sample& op, Text& text) {
  text << name_of(op.type) << ' ' << op.rows << " x " << op.vocabulary << " temperature " << op.temperature << " top-k "
       << op.top_k << " top-p " << op.top_p;
}

void put(const VerifyDraft& op, Text& text) {
  text << "sequences " << op.sequences << " drafted " << op.drafted << " vocabulary " << op.vocabulary;
}

}  // namespace

std::string describe(const Operation& operation, const std::vector<SequenceSpan>& sequences) {
  Text text;
  std::visit([&](const auto& op) { put(op, text); }, operation);
  if (!sequences.empty()) put(sequences, text);
  return text.str();
}

}  // namespace servecast::kernels
