#include "costmodel/profile/simdistserve.hpp"

#include <cmath>
#include <utility>

namespace servecast {
namespace {

// simdistserve/estimators/time_estimator.py and base/worker.py of github.com/LLMServe/DistServe.
constexpr std::chrono::milliseconds kPrefillPerStage{1};
constexpr std::chrono::milliseconds kRay{2};
constexpr double kRayPerTokenNs = 100;

}  // namespace

SimdistserveModel::SimdistserveModel(StepsProfile profile, std::int64_t stages)
    : steps_(std::move(profile), {1 / static_cast<double>(stages), 1 / static_cast<double>(stages)}, {}),
      stages_(stages) {}

StepCost SimdistserveModel::cost(const StepShape& shape) {
  StepCost cost = steps_.cost(shape);
  if (!shape.prefills.empty()) cost.device += kPrefillPerStage * stages_;
  Tokens contexts = shape.decode_context - Tokens{shape.decode_sequences};  // without the token that the step makes
  for (const PrefillChunk& chunk : shape.prefills) contexts += chunk.context + chunk.tokens;
  cost.host = kRay + Duration{std::llround(kRayPerTokenNs * static_cast<double>(contexts.count()))};
  return cost;
}

}  // namespace servecast
