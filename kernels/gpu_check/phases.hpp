// The whole check: every phase in a process of its own, so that an error that a device does not recover from costs that
// phase, or that operator, alone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/gpu_check/options.hpp"
#include "kernels/gpu_check/process.hpp"

namespace servecast::kernels::gpu_check {

enum class Outcome : std::uint8_t {
  kPassed,
  kFailed,
  kCutOff,       // its time was up; what it had by then counts
  kUnavailable,  // this machine does not have what it needs
  kSkipped,      // there was nothing to do
};

[[nodiscard]] std::string_view name_of(Outcome outcome);

// One process's end.
struct PhaseReport {
  std::string phase;
  std::string subject;  // the operator, where there is one process for each
  Outcome outcome = Outcome::kPassed;
  std::string ended;
  double seconds = 0;
};

// How the budget is shared out. A phase that ends early leaves its time to those behind it.
struct PhasePlan {
  std::string_view phase;
  double share = 0;    // of the budget, at most
  double needs_s = 0;  // below this much it is not begun
};

// Seconds that a phase gets, 0 where it is not begun: its share, and never more than what is left.
[[nodiscard]] double allowance(const PhasePlan& plan, double budget_s, double left_s);

inline constexpr int kExitPassed = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitCutOff = 3;  // of one phase: all right so far, but not done
inline constexpr int kExitNoDevice = 4;
inline constexpr int kExitNoWork = 5;     // of one phase: nothing is left to do
inline constexpr int kExitNoGpu = 6;      // of one phase: nothing to do without a GPU
inline constexpr int kExitNotLinked = 7;  // of one phase: all right, but not all there, as the back end is a module

// How a phase went by its process's end. A process of correctness that had to be stopped is a kernel that hangs; any
// other, and one that stops itself, was cut off.
[[nodiscard]] Outcome outcome_of(std::string_view phase, const Ended& ended);

// The end for people: what an exit code means where it is not plain.
[[nodiscard]] std::string explain(const Ended& ended);

// Runs all phases and writes report.json, report.md, correctness.jsonl and measurements.jsonl into the options' folder,
// each anew after every phase. `program` is this program. Returns the exit code.
int run_all_phases(const std::string& program, const Options& options);

}  // namespace servecast::kernels::gpu_check
