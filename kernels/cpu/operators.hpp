// The CPU set: one function an operator. Each requires a sound operation that refusal() lets through.
#pragma once

#include "kernels/cpu/runtime.hpp"
#include "kernels/operation.hpp"

namespace servecast::kernels::cpu {

// What the CPU set does not have, by name; ok for all that it runs.
[[nodiscard]] Status refusal(const Operation& operation);

void run(const PrefillAttention& op, Runtime& runtime);
void run(const DecodeAttention& op, Runtime& runtime);
void run(const LatentDecodeAttention& op, Runtime& runtime);
void run(const NaiveAttention& op, Runtime& runtime);
void run(const AppendKv& op, Runtime& runtime);
void run(const CopyBlocks& op, Runtime& runtime);
void run(const GatherBlocks& op, Runtime& runtime);
void run(const RmsNorm& op, Runtime& runtime);
void run(const Activation& op, Runtime& runtime);
void run(const Embedding& op, Runtime& runtime);
void run(const Gemm& op, Runtime& runtime);
void run(const GroupedGemm& op, Runtime& runtime);
void run(const RouteExperts& op, Runtime& runtime);
void run(const CombineExperts& op, Runtime& runtime);
void run(const Sample& op, Runtime& runtime);
void run(const VerifyDraft& op, Runtime& runtime);

}  // namespace servecast::kernels::cpu
