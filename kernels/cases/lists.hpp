// The shapes that each set of kernels is tested on: ragged lengths around the tiles' edges, formats, groups of heads,
// page sizes, windows, contexts, trees and splits, so that every two of their levels meet.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/cases/case.hpp"

namespace servecast::kernels {

enum class CaseSet : std::uint8_t {
  kCuda,    // bf16 and fp16, sm_80 and later
  kCuda75,  // fp16, what sm_75 has
  kCpu,     // f32
};

// In a fixed order; names are unique. Small: each runs in a fraction of a second under emulation.
[[nodiscard]] std::vector<CaseShape> case_shapes(CaseSet set);
// Those of one operation, by its name.
[[nodiscard]] std::vector<CaseShape> case_shapes(CaseSet set, std::string_view operation);

// What tells a shape from others of its operation, for names: "bf16 kv fp8 heads 8/2 x 128 page 16 ...".
[[nodiscard]] std::string describe(const Operation& operation, const std::vector<SequenceSpan>& sequences);

}  // namespace servecast::kernels
