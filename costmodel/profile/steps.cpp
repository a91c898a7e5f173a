#include "costmodel/profile/steps.hpp"

#include <algorithm>
#include <utility>

namespace servecast {
namespace {

double of(Tokens tokens) { return static_cast<double>(tokens.count()); }

double evaluate(const DecodeSteps& law, const StepShape& shape) {
  return law.step_s + law.context_token_s * of(shape.decode_context) +
         law.sequence_s * static_cast<double>(shape.decode_sequences);
}

}  // namespace

StepsModel::StepsModel(StepsProfile profile, PhaseScale scale, HostTime host)
    : profile_(std::move(profile)), host_(host) {
  PrefillSteps& prefill = profile_.prefill;
  for (double* each : {&prefill.step_s, &prefill.token_s, &prefill.token_squared_s}) *each *= scale.prefill;
  for (DecodeSteps& law : profile_.decode) {
    for (double* each : {&law.step_s, &law.context_token_s, &law.sequence_s}) *each *= scale.decode;
  }
}

double StepsModel::prefill_s(const StepShape& shape) const {
  double tokens = 0, squares = 0;
  for (const PrefillChunk& chunk : shape.prefills) {
    const double n = of(chunk.tokens);
    tokens += n;
    squares += n * (n + 2 * of(chunk.context));
  }
  return profile_.prefill.step_s + profile_.prefill.token_s * tokens + profile_.prefill.token_squared_s * squares;
}

const DecodeSteps& StepsModel::regime(std::int64_t sequences) const {
  const auto above = std::find_if(profile_.decode.begin() + 1, profile_.decode.end(),
                                  [&](const DecodeSteps& law) { return law.from_sequences > sequences; });
  return *(above - 1);
}

// A pass that runs nothing costs what it costs to start one.
double StepsModel::device_s(const StepShape& shape) const {
  const DecodeSteps& law = regime(std::max<std::int64_t>(1, shape.decode_sequences));
  if (shape.prefills.empty()) return evaluate(law, shape);
  if (shape.decode_sequences == 0) return prefill_s(shape);
  const double both = prefill_s(shape) + evaluate(law, shape);
  if (profile_.mixed == MixedSteps::kSum) return both;
  return both - std::min(profile_.prefill.step_s, law.step_s);
}

StepCost StepsModel::cost(const StepShape& shape) {
  // The cap (292 years) keeps the conversion defined.
  const double nanoseconds = std::min(std::max(device_s(shape) * 1e9 + 0.5, 1.0), 9e18);
  return {Duration{static_cast<std::int64_t>(nanoseconds)}, host_.of(shape)};
}

}  // namespace servecast
