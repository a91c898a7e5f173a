// A profile of kind `steps`: how long whole steps of one model on one device take, in a handful of coefficients. The
// form in which DistServe, Sarathi and others publish what their engines do.
#pragma once

#include <cstdint>
#include <vector>

#include "costmodel/host_time.hpp"
#include "sim/step.hpp"

namespace servecast {

// A step that prefills n_1, n_2, ... tokens: step_s + token_s · Σn + token_squared_s · Σn².
// A chunk of n tokens after k earlier ones adds (n + k)² − k² to the last sum: chunks of a prompt then add up to the
// whole of it, but for the constant.
struct PrefillSteps {
  double step_s = 0;
  double token_s = 0;
  double token_squared_s = 0;
  Tokens longest_prompt;  // up to which the form holds; it rises until there
};

// A step in which B sequences decode: step_s + context_token_s · Σcontext + sequence_s · B, where the context of a
// sequence is its prompt and all that it has emitted. Of several such laws, each holds from so many sequences on.
struct DecodeSteps {
  std::int64_t from_sequences = 1;
  double step_s = 0;
  double context_token_s = 0;
  double sequence_s = 0;
};

// What a step costs that does both.
enum class MixedSteps : std::uint8_t {
  kSharedConstant,  // both, but of the two constants only the larger: the weights are read once
  kSum,             // both
};

struct StepsProfile {
  PrefillSteps prefill;
  std::vector<DecodeSteps> decode;  // at least one; rising from 1 sequence
  MixedSteps mixed = MixedSteps::kSharedConstant;
};

// Factors on what a profile says, one a phase: how much slower this machine is than the one that was measured.
struct PhaseScale {
  double prefill = 1;
  double decode = 1;
};

class StepsModel final : public StepCostModel {
 public:
  // Requires a profile that was checked (profile.hpp), and scales above 0.
  StepsModel(StepsProfile profile, PhaseScale scale, HostTime host);

  StepCost cost(const StepShape& shape) override;

 private:
  [[nodiscard]] double prefill_s(const StepShape& shape) const;
  [[nodiscard]] const DecodeSteps& regime(std::int64_t sequences) const;
  [[nodiscard]] double device_s(const StepShape& shape) const;

  StepsProfile profile_;  // scaled
  HostTime host_;
};

}  // namespace servecast
