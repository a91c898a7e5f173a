#include "kernels/operators/sampling.hpp"

#include <cmath>

#include "kernels/operators/check.hpp"

namespace servecast::kernels {
namespace {

double real(std::int64_t value) { return static_cast<double>(value); }

}  // namespace

Status validate(const Sample& op) {
  Check check("sample");
  check.real("type", op.type).at_least("rows", op.rows, 1).at_least("vocabulary", op.vocabulary, 1);
  check.within("top_k", op.top_k, 0, op.vocabulary).that(op.top_p > 0 && op.top_p <= 1, "top_p is not in (0, 1]");
  check.that(op.temperature >= 0 && std::isfinite(op.temperature), "temperature is not a number of zero or more");
  check.fits("logits", {op.rows, op.vocabulary});
  return check.operands(op);
}

Status validate(const VerifyDraft& op) {
  Check check("verify_draft");
  check.at_least("sequences", op.sequences, 1).within("drafted", op.drafted, 1, 63);
  check.at_least("vocabulary", op.vocabulary, 1);
  check.fits("target", {op.sequences, std::int64_t{op.drafted} + 1, op.vocabulary});
  return check.operands(op);
}

Work work(const Sample& op) { return {0, real(bytes_of(op.type, 1)) * real(op.rows) * real(op.vocabulary)}; }

// All rows of probabilities, though a sequence that rejects early needs fewer.
Work work(const VerifyDraft& op) {
  return {0, 4 * real(op.sequences) * real(op.vocabulary) * (2 * real(op.drafted) + 1)};
}

}  // namespace servecast::kernels
