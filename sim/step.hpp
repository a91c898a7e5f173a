// One step: one forward pass of one replica over one batch. What its cost depends on, and who runs it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "sim/time.hpp"
#include "sim/units.hpp"

namespace servecast {

// One sequence's part of a prefill: `tokens` computed in this step after `context` already in the cache.
struct PrefillChunk {
  Tokens tokens;
  Tokens context;
};

// Everything the duration of a step depends on. Context counts the keys a token attends to, its own included.
struct StepShape {
  std::span<const PrefillChunk> prefills;
  std::int64_t decode_sequences = 0;  // rows that decode, one token each
  Tokens decode_context;              // Σ over those rows of their context
  Tokens decode_window_context;       // the same, each row's context cut at the replica's attention window
  std::int64_t sampled_rows = 0;      // rows through the LM head: decodes and prefills that end in this step
};

// `host` is time the device waits for the host before this step, unless the engine schedules ahead.
struct StepCost {
  Duration device{0};
  Duration host{0};
};

// How long a step takes. Deterministic: equal shapes cost the same. Requires an instance per thread
// (implementations remember what they computed).
class StepCostModel {
 public:
  virtual ~StepCostModel() = default;
  // An empty shape costs what the engine spends on a pass that runs nothing; at least 1 ns in all cases.
  virtual StepCost cost(const StepShape& shape) = 0;
};

enum class StepId : std::uint64_t {};

// Who runs steps. The predictor answers at once how long the step lasts; a live executor answers nothing
// and posts the end of the step when it happened.
class StepExecutor {
 public:
  virtual ~StepExecutor() = default;
  virtual std::optional<StepCost> start(StepId step, const StepShape& shape) = 0;
};

}  // namespace servecast
