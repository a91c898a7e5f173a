#include <string>

#include "kernels/cpu/attention/rows.hpp"
#include "kernels/cpu/operators.hpp"

namespace servecast::kernels::cpu {
namespace {

Status only_f32(DType type, std::string_view what) {
  if (type == DType::kF32) return {};
  std::string message("the CPU set computes in f32, and ");
  message.append(what).append(" is of ").append(name_of(type));
  return Status::unsupported(std::move(message));
}

Status narrow_enough(std::int64_t width, std::string_view what) {
  if (width <= kMaxHeadWidth) return {};
  std::string message("the CPU set has attention up to ");
  message.append(std::to_string(kMaxHeadWidth)).append(" elements a head, and ").append(what).append(" is ");
  message.append(std::to_string(width));
  return Status::unsupported(std::move(message));
}

Status both(const Status& first, const Status& second) { return first.ok() ? second : first; }

Status refusal_of(const PrefillAttention& op) {
  return both(only_f32(op.type, "prefill_attention"), narrow_enough(op.kv.head_dim, "head_dim"));
}
Status refusal_of(const DecodeAttention& op) {
  return both(only_f32(op.type, "decode_attention"), narrow_enough(op.kv.head_dim, "head_dim"));
}
Status refusal_of(const LatentDecodeAttention& op) {
  return both(only_f32(op.type, "latent_decode_attention"),
              narrow_enough(std::int64_t{op.latent} + op.rope, "latent + rope"));
}
Status refusal_of(const NaiveAttention& op) {
  return both(only_f32(op.type, "naive_attention"), narrow_enough(op.head_dim, "head_dim"));
}
Status refusal_of(const Gemm& op) {
  if (op.method == GemmMethod::kLibrary) {
    return Status::unsupported("the CPU set has its own gemm, and no library's");
  }
  return only_f32(op.type, "gemm");
}
Status refusal_of(const AppendKv& op) { return only_f32(op.type, "append_kv"); }
Status refusal_of(const CopyBlocks&) { return {}; }
Status refusal_of(const GatherBlocks&) { return {}; }
Status refusal_of(const RmsNorm& op) { return only_f32(op.type, "rms_norm"); }
Status refusal_of(const Activation& op) { return only_f32(op.type, "activation"); }
Status refusal_of(const Embedding& op) { return only_f32(op.type, "embedding"); }
Status refusal_of(const GroupedGemm& op) { return only_f32(op.type, "grouped_gemm"); }
Status refusal_of(const RouteExperts&) { return {}; }
Status refusal_of(const CombineExperts& op) { return only_f32(op.type, "combine_experts"); }
Status refusal_of(const Sample& op) { return only_f32(op.type, "sample"); }
Status refusal_of(const VerifyDraft&) { return {}; }

}  // namespace

Status refusal(const Operation& operation) {
  return std::visit([](const auto& op) { return refusal_of(op); }, operation);
}

}  // namespace servecast::kernels::cpu
