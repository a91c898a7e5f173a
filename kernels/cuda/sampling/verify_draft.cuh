// Which draft tokens a target model keeps, and the token that follows them; one block a sequence.
#pragma once

#include <cstdint>

#include "kernels/cuda/sampling/row.cuh"

namespace servecast::kernels::SERVECAST_DEVICE {

// The mass of probability 1, 2^56: sums of probabilities stay exact, and a residual as small as a float's rounding
// keeps its digits.
inline constexpr float kWholeMass = 72057594037927936.0F;

struct DraftRows {
  const float* target;
  const float* draft;
  const std::int32_t* proposed;
  const float* uniforms;
  std::int32_t* accepted;
  std::int32_t* tokens;
  int drafted;  // at most 63
  int vocabulary;
};

// How many draft tokens are kept: those before the first whose uniform number is not below target / draft. In
// doubles the product is exact, and so is the comparison.
__device__ __forceinline__ int count_kept(const DraftRows& rows, std::int64_t sequence) {
  const std::int64_t first = sequence * rows.drafted;
  const auto kept_before = [&](int begin) {
    const int i = begin + lane_index();
    bool keeps = true;
    if (i < rows.drafted) {
      const std::int64_t token = rows.proposed[first + i];
      const double target = rows.target[(first + sequence + i) * rows.vocabulary + token];
      const double draft = rows.draft[(first + i) * rows.vocabulary + token];
      keeps = static_cast<double>(rows.uniforms[first + sequence + i]) * draft < target;
    }
    const unsigned refused = ~__ballot_sync(kAllLanes, keeps);
    return refused == 0 ? 32 : __ffs(static_cast<int>(refused)) - 1;
  };
  int kept = kept_before(0);
  if (kept == 32) kept += kept_before(32);
  return kept < rows.drafted ? kept : rows.drafted;
}

__global__ void __launch_bounds__(kRowThreads) verify_draft_kernel(DraftRows rows) {
  __shared__ RowScratch scratch;
  const std::int64_t sequence = blockIdx.x;
  const std::int64_t out = sequence * (rows.drafted + 1);
  const int kept = count_kept(rows, sequence);
  const bool replaces = kept < rows.drafted;
  const float* target = rows.target + (out + kept) * rows.vocabulary;
  const float* draft = replaces ? rows.draft + (sequence * rows.drafted + kept) * rows.vocabulary : nullptr;
  const auto of_target = [&](int i) { return static_cast<Mass>(__ldg(target + i) * kWholeMass); };
  const auto residual = [&](int i) {
    return static_cast<Mass>(fmaxf(__ldg(target + i) - (replaces ? __ldg(draft + i) : 0.0F), 0.0F) * kWholeMass);
  };
  const float uniform = rows.uniforms[out + rows.drafted];
  // Rounded rows can be equal where exact ones differ; then nothing remains, and the target itself is drawn from.
  const Mass total = sum_row(rows.vocabulary, residual, scratch);
  const int token = total > 0 ? find_crossing(rows.vocabulary, portion(uniform, total), residual, scratch).index
                              : draw(rows.vocabulary, uniform, of_target, scratch);
  if (thread_index() == 0) rows.accepted[sequence] = kept;
  if (thread_index() <= rows.drafted) {
    const int i = thread_index();
    rows.tokens[out + i] = i < kept ? rows.proposed[sequence * rows.drafted + i] : i == kept ? token : -1;
  }
}

}  // namespace servecast::kernels::SERVECAST_DEVICE
