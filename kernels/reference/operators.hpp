// The reference of each operator; reference() is their one door.
#pragma once

#include <vector>

#include "kernels/reference/reference.hpp"

namespace servecast::kernels {

[[nodiscard]] std::vector<Expected> reference_of(const PrefillAttention& op, const RowSample& sample);
[[nodiscard]] std::vector<Expected> reference_of(const DecodeAttention& op, const RowSample& sample);
[[nodiscard]] std::vector<Expected> reference_of(const LatentDecodeAttention& op, const RowSample& sample);
[[nodiscard]] std::vector<Expected> reference_of(const NaiveAttention& op, const RowSample& sample);
[[nodiscard]] std::vector<Expected> reference_of(const AppendKv& op, const RowSample& sample);
[[nodiscard]] std::vector<Expected> reference_of(const CopyBlocks& op, const RowSample& sample);
[[nodiscard]] std::vector<Expected> reference_of(const GatherBlocks& op, const RowSample& sample);
[[nodiscard]] std::vector<Expected> reference_of(const RmsNorm& op, const RowSample& sample);
[[nodiscard]] std::vector<Expected> reference_of(const Activation& op, const RowSample& sample);
[[nodiscard]] std::vector<Expected> reference_of(const Embedding& op, const RowSample& sample);
[[nodiscard]] std::vector<Expected> reference_of(const Gemm& op, const RowSample& sample);
[[nodiscard]] std::vector<Expected> reference_of(const GroupedGemm& op, const RowSample& sample);
[[nodiscard]] std::vector<Expected> reference_of(const RouteExperts& op, const RowSample& sample);
[[nodiscard]] std::vector<Expected> reference_of(const CombineExperts& op, const RowSample& sample);
[[nodiscard]] std::vector<Expected> reference_of(const Sample& op, const RowSample& sample);
[[nodiscard]] std::vector<Expected> reference_of(const VerifyDraft& op, const RowSample& sample);

// The rows that `sample` asks for, rising; empty: all of `total`.
[[nodiscard]] std::vector<std::int64_t> chosen_rows(std::int64_t total, const RowSample& sample);

// An output of `total` rows of `width` elements, those of the sample zero and to be filled by
// fill(row, pointer to its first element).
template <class Fill>
Expected by_rows(std::string_view buffer, std::int64_t total, std::int64_t width, const RowSample& sample,
                 Fill&& fill) {
  Expected expected{buffer, width, chosen_rows(total, sample), {}, false};
  const std::int64_t rows = expected.rows.empty() ? total : static_cast<std::int64_t>(expected.rows.size());
  expected.values.assign(static_cast<std::size_t>(rows * width), 0.0);
  for (std::int64_t index = 0; index < rows; ++index) {
    fill(expected.rows.empty() ? index : expected.rows[static_cast<std::size_t>(index)],
         expected.values.data() + index * width);
  }
  return expected;
}

}  // namespace servecast::kernels
