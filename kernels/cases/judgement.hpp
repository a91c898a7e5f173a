// Whether a launch did what it should, and nothing else. Pure: it looks at bytes, wherever they came from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernels/cases/case.hpp"
#include "kernels/reference/reference.hpp"

namespace servecast::kernels {

// The operands after a launch, in order, each between two guards of `guard_bytes`.
struct Outcome {
  std::int64_t guard_bytes = 0;
  std::vector<std::vector<std::byte>> operands;
};

// What stands in the guards: NaN around inputs, so that reading beyond them shows in the answer; elsewhere a pattern
// that no operator writes.
[[nodiscard]] std::byte guard_byte(Role role);

struct Verdict {
  std::string problem;  // empty: right
  double error = 0;     // ‖out − ref‖ / ‖ref‖ of the output that is worst against its bound
  double worst_row = 0;
  double worst_element = 0;  // over rms(ref)

  [[nodiscard]] bool ok() const { return problem.empty(); }
};

// ‖out − ref‖ / ‖ref‖ that single-precision accumulation and one rounding to the output's format allow: 4e-3 for bf16,
// 1e-3 for fp16, 3e-6 · √(max(K, 4096) / 4096) for f32, where K is the length of the sums.
[[nodiscard]] double bound_of(const Operation& operation);

// How an output is stored: `steps` says how far apart the format's numbers lie there.
struct Tolerance {
  double bound = 0;
  DType stored = DType::kF32;
};

// In this order: no NaN where a number is expected; integers equal; all elements together within the bound; each row
// within 4 × the bound; each element within 5 % of rms(ref) and a step of its format. `actual` has the values of the
// expected rows, and whatever where the expectation is NaN.
[[nodiscard]] Verdict judge_values(const Expected& expected, std::span<const double> actual,
                                   const Tolerance& tolerance);

// Guards intact, inputs as they were, elements that must stay untouched unchanged byte for byte; then every output's
// values. `expected` is the reference of the case's operation.
[[nodiscard]] Verdict judge(const Case& subject, const std::vector<Expected>& expected, const Outcome& outcome);

}  // namespace servecast::kernels
