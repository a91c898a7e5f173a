// One step: one forward pass of one replica over one batch. What its cost depends on, and who runs it.
#pragma once

#include <cstddef>
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

// The stages of a pipeline, each of which runs a part of the layers. Requires an instance per thread.
class StageCostModel {
 public:
  virtual ~StageCostModel() = default;
  [[nodiscard]] virtual std::size_t stages() const = 0;
  // The first stage's has the host's time, since the host prepares a batch once. Device: at least 1 ns.
  virtual StepCost stage_cost(std::size_t stage, const StepShape& shape) = 0;
  // From that stage's end until the next stage has what it needs. Requires stage + 1 < stages().
  virtual Duration handoff_time(std::size_t stage, const StepShape& shape) = 0;
};

enum class StepId : std::uint64_t {};

// What a predictor knows of a step when it starts.
struct StepTimes {
  Duration length{0};  // to its end
  Duration host{0};    // of that: the device waits for the host
  Duration next{0};    // to when another step may be started; `length` where one runs at a time
  Duration worked{0};  // that the stages of the pipeline work on it, added up
};

// Who runs steps. A predictor answers at once; a live executor answers nothing and posts the end of the step when it
// happened. Steps end in the order in which they start.
class StepExecutor {
 public:
  virtual ~StepExecutor() = default;
  virtual std::optional<StepTimes> start(StepId step, const StepShape& shape, SimTime at) = 0;
  // The replica lost all that it had, steps that ran included.
  virtual void restart() {}
};

}  // namespace servecast
