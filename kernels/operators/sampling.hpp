// From logits to tokens. Random numbers are operands, so that every back end draws the same tokens.
#pragma once

#include <cstdint>

#include "kernels/operators/operator.hpp"

namespace servecast::kernels {

// One token a row. Temperature 0: the largest logit (ties: the lower index). Else logits are divided by it, the top_k
// largest kept (0: all; ties: the lower index) and renormalised, of those the shortest prefix by falling probability
// whose sum reaches top_p (1: all), renormalised again; the token is the first, by index, at which the running sum
// exceeds the row's uniform number.
struct Sample {
  DType type = DType::kF32;  // of the logits
  std::int32_t rows = 1;
  std::int32_t vocabulary = 1;
  std::int32_t top_k = 0;
  float top_p = 1;
  float temperature = 0;
  const void* logits = nullptr;     // [rows][vocabulary]
  const float* uniforms = nullptr;  // [rows], in [0, 1); not read where temperature is 0
  std::int32_t* tokens = nullptr;   // [rows]
};

// Speculative verification: draft token i is kept while uniform < min(1, target/draft); the first that is not is
// replaced by a sample of the residual norm(max(0, target − draft)); if all are kept, one more comes from the target's
// last row. Tokens behind the last accepted one are −1.
struct VerifyDraft {
  std::int32_t sequences = 1;
  std::int32_t drafted = 1;  // k, 1 … 63
  std::int32_t vocabulary = 1;
  const float* target = nullptr;           // [sequences][drafted + 1][vocabulary], probabilities
  const float* draft = nullptr;            // [sequences][drafted][vocabulary]
  const std::int32_t* proposed = nullptr;  // [sequences][drafted]
  const float* uniforms = nullptr;         // [sequences][drafted + 1]: one a draft token, one for the last token
  std::int32_t* accepted = nullptr;        // [sequences]: draft tokens kept
  std::int32_t* tokens = nullptr;          // [sequences][drafted + 1]
};

[[nodiscard]] Status validate(const Sample& op);
[[nodiscard]] Status validate(const VerifyDraft& op);

[[nodiscard]] Work work(const Sample& op);
[[nodiscard]] Work work(const VerifyDraft& op);

template <class Visit>
void for_each_buffer(Sample& op, Visit&& visit) {
  visit(Buffer{"logits", Role::kInput, op.type, std::int64_t{1} * op.rows * op.vocabulary}, op.logits);
  visit(Buffer{"uniforms", Role::kInput, DType::kF32, op.rows}, op.uniforms);
  visit(Buffer{"tokens", Role::kOutput, DType::kI32, op.rows}, op.tokens);
}

template <class Visit>
void for_each_buffer(VerifyDraft& op, Visit&& visit) {
  const std::int64_t row = op.vocabulary;
  const std::int64_t drafts = std::int64_t{1} * op.sequences * op.drafted;
  visit(Buffer{"target", Role::kInput, DType::kF32, (drafts + op.sequences) * row}, op.target);
  visit(Buffer{"draft", Role::kInput, DType::kF32, drafts * row}, op.draft);
  visit(Buffer{"proposed", Role::kInput, DType::kI32, drafts}, op.proposed);
  visit(Buffer{"uniforms", Role::kInput, DType::kF32, drafts + op.sequences}, op.uniforms);
  visit(Buffer{"accepted", Role::kOutput, DType::kI32, op.sequences}, op.accepted);
  visit(Buffer{"tokens", Role::kOutput, DType::kI32, drafts + op.sequences}, op.tokens);
}

}  // namespace servecast::kernels
