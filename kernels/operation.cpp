#include "kernels/operation.hpp"

#include <array>

namespace servecast::kernels {
namespace {

// In the order of the variant.
constexpr std::array<std::string_view, std::variant_size_v<Operation>> kNames = {"prefill_attention",
                                                                                 "decode_attention",
                                                                                 "latent_decode_attention",
                                                                                 "naive_attention",
                                                                                 "append_kv",
                                                                                 "copy_blocks",
                                                                                 "gather_blocks",
                                                                                 "rms_norm",
                                                                                 "activation",
                                                                                 "embedding",
                                                                                 "gemm",
                                                                                 "grouped_gemm",
                                                                                 "route_experts",
                                                                                 "combine_experts",
                                                                                 "sample",
                                                                                 "verify_draft"};

}  // namespace

std::string_view name_of(const Operation& operation) { return kNames[operation.index()]; }

Status validate(const Operation& operation) {
  return std::visit([](const auto& op) { return validate(op); }, operation);
}

Work work(const Operation& operation) {
  return std::visit([](const auto& op) { return work(op); }, operation);
}

}  // namespace servecast::kernels
