// The result files, put together from what the phases wrote.
#pragma once

#include <string>
#include <vector>

#include "kernels/gpu_check/phases.hpp"
#include "kernels/status.hpp"

namespace servecast::kernels::gpu_check {

// correctness.jsonl, measurements.jsonl, report.json and report.md in `out`, from the phases' files in `parts`.
Status write_results(const std::string& out, const std::string& parts, const std::vector<PhaseReport>& reports);

// The report for people: the device, how each phase went, errors against their bounds, and speeds against ceilings.
// Each text is what the phase of that name wrote: one JSON object a line.
struct PhaseTexts {
  std::string probe;
  std::string correctness;
  std::string ceilings;
  std::string measurements;
};
[[nodiscard]] std::string markdown(const PhaseTexts& texts, const std::vector<PhaseReport>& reports);

}  // namespace servecast::kernels::gpu_check
