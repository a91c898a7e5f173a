#include "kernels/cpu/gemm/weights.hpp"

#include <algorithm>

#include "kernels/cpu/backend.hpp"

namespace servecast::kernels::cpu {
namespace {

constexpr std::int64_t kLine = 16;  // elements of a row moved at once: a cache line of f32

// out[i][column] for elements from … from + count − 1 of one row, each by `element`.
template <class Element>
void spread(std::int64_t count, float* out, Element&& element) {
  for (std::int64_t i = 0; i < count; ++i) out[i * kPanelColumns] = element(i);
}

void spread_row(const Weights& weights, std::int64_t row, std::int64_t from, std::int64_t count, float* out) {
  const std::int64_t first = row * weights.k + from;
  if (weights.type == DType::kF32) {
    const float* at = static_cast<const float*>(weights.data) + first;
    return spread(count, out, [&](std::int64_t i) { return at[i]; });
  }
  if (weights.type == DType::kInt8) {
    const auto* at = static_cast<const std::int8_t*>(weights.data) + first;
    const float scale = weights.scales[row];
    return spread(count, out, [&](std::int64_t i) { return static_cast<float>(at[i]) * scale; });
  }
  const auto* bytes = static_cast<const std::uint8_t*>(weights.data);
  const float* scales = weights.scales + row * (weights.k / weights.group);
  spread(count, out, [&](std::int64_t i) {
    const unsigned byte = bytes[(first + i) / 2];
    const unsigned stored = (first + i) % 2 == 0 ? byte & 0xFU : byte >> 4;
    return static_cast<float>(static_cast<int>(stored) - 8) * scales[(from + i) / weights.group];
  });
}

}  // namespace

void stage_panel(const Weights& weights, std::int64_t panel, std::int64_t from, std::int64_t depth, float* out) {
  const std::int64_t first = panel * kPanelColumns;
  const std::int64_t rows = std::min(kPanelColumns, weights.n - first);
  for (std::int64_t k = 0; k < depth; k += kLine) {
    const std::int64_t count = std::min(kLine, depth - k);
    for (std::int64_t c = 0; c < rows; ++c) {
      spread_row(weights, first + c, from + k, count, out + k * kPanelColumns + c);
    }
    for (std::int64_t c = rows; c < kPanelColumns; ++c) {
      spread(count, out + k * kPanelColumns + c, [](std::int64_t) { return 0.0F; });
    }
  }
}

}  // namespace servecast::kernels::cpu

namespace servecast::kernels {

void pack_panels(const float* rows, std::int64_t n, std::int64_t k, float* panels) {
  cpu::Weights weights;
  weights.data = rows;
  weights.n = n;
  weights.k = k;
  for (std::int64_t panel = 0; panel * cpu::kPanelColumns < n; ++panel) {
    cpu::stage_panel(weights, panel, 0, k, panels + panel * k * cpu::kPanelColumns);
  }
}

}  // namespace servecast::kernels
