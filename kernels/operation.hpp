// The closed set of operators, as one type.
#pragma once

#include <string_view>
#include <variant>

#include "kernels/operators/attention.hpp"
#include "kernels/operators/elementwise.hpp"
#include "kernels/operators/experts.hpp"
#include "kernels/operators/gemm.hpp"
#include "kernels/operators/kv_cache.hpp"
#include "kernels/operators/sampling.hpp"

namespace servecast::kernels {

using Operation = std::variant<PrefillAttention, DecodeAttention, LatentDecodeAttention, NaiveAttention, AppendKv,
                               CopyBlocks, GatherBlocks, RmsNorm, Activation, Embedding, Gemm, GroupedGemm,
                               RouteExperts, CombineExperts, Sample, VerifyDraft>;

// "prefill_attention", "decode_attention", …: the name in measurements and messages.
[[nodiscard]] std::string_view name_of(const Operation& operation);
[[nodiscard]] Status validate(const Operation& operation);
[[nodiscard]] Work work(const Operation& operation);

template <class Visit>
void for_each_buffer(Operation& operation, Visit&& visit) {
  std::visit([&](auto& op) { for_each_buffer(op, visit); }, operation);
}

}  // namespace servecast::kernels
