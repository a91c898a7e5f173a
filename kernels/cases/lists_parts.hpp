// What the lists are put together from.
#pragma once

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/cases/lists.hpp"
#include "kernels/cases/pairwise.hpp"

namespace servecast::kernels {

void append_attention_shapes(CaseSet set, std::vector<CaseShape>& list);
void append_dense_shapes(CaseSet set, std::vector<CaseShape>& list);
void append_gemm_shapes(CaseSet set, std::vector<CaseShape>& list);
void append_cache_shapes(CaseSet set, std::vector<CaseShape>& list);
void append_choice_shapes(CaseSet set, std::vector<CaseShape>& list);

// The formats of activations in a set.
[[nodiscard]] inline std::vector<DType> real_types(CaseSet set) {
  if (set == CaseSet::kCpu) return {DType::kF32};
  if (set == CaseSet::kCuda75) return {DType::kF16};
  return {DType::kBf16, DType::kF16};
}

// kF32 stands for "as the activations".
[[nodiscard]] inline std::vector<DType> cache_types(CaseSet set) {
  if (set == CaseSet::kCuda75) return {DType::kF32};
  return {DType::kF32, DType::kFp8, DType::kInt8};
}

[[nodiscard]] inline DType cache_type(DType chosen, DType activations) {
  return chosen == DType::kF32 ? activations : chosen;
}

template <class T>
[[nodiscard]] std::int32_t count_of(const T& levels) {
  return static_cast<std::int32_t>(levels.size());
}

// One level of each factor, by index, as the builders read them.
class Levels {
 public:
  explicit Levels(const Combination& combination) : combination_(&combination) {}

  // The level of the next factor.
  template <class T>
  [[nodiscard]] auto next(const T& levels) {
    return levels[static_cast<std::size_t>((*combination_)[index_++])];
  }

 private:
  const Combination* combination_;
  std::size_t index_ = 0;
};

// Appends a pairwise cover. build(Levels) gives std::optional<std::pair<Operation, sequences>>: none where the levels
// do not go together.
template <class Build>
void append_cover(const std::vector<std::int32_t>& counts, Build&& build, std::vector<CaseShape>& list) {
  const auto allowed = [&](const Combination& combination) { return build(Levels(combination)).has_value(); };
  for (const Combination& combination : pairwise(counts, allowed, 1)) {
    auto built = build(Levels(combination));
    list.push_back({{}, built->first, built->second, 0});
  }
}

using Built = std::optional<std::pair<Operation, std::vector<SequenceSpan>>>;

}  // namespace servecast::kernels
