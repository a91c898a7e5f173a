// What a phase works with, and the phases that run inside one process. Each writes its results as it goes, so that
// what is killed at its deadline keeps what it had.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/cases/lists.hpp"
#include "kernels/gpu_check/device.hpp"
#include "kernels/gpu_check/json.hpp"
#include "kernels/gpu_check/nvml.hpp"
#include "kernels/gpu_check/options.hpp"
#include "kernels/gpu_check/plan.hpp"

namespace servecast::kernels::gpu_check {

class Deadline {
 public:
  explicit Deadline(double seconds) : start_(Clock::now()), seconds_(seconds) {}
  [[nodiscard]] double elapsed_s() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  [[nodiscard]] double left_s() const { return seconds_ - elapsed_s(); }
  [[nodiscard]] bool passed() const { return left_s() <= 0; }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_;
  double seconds_;
};

// One process's share: its options, an open device, and where its results go.
struct Session {
  Options options;
  Device& device;
  const Nvml& nvml;
  Deadline deadline;

  [[nodiscard]] Backend& backend() const { return *device.backend; }
  [[nodiscard]] CaseSet case_set() const;
  [[nodiscard]] PlanTarget plan_target() const;
  // Whether the options leave this operator in.
  [[nodiscard]] bool wants(const Operation& operation) const;
  // Named after the phase; correctness runs in a process for each operator, and so in a file for each.
  [[nodiscard]] std::string result_path() const;
  // Replaces this phase's results so far.
  Status write(const std::vector<JsonObject>& records) const;
};

// Adds device, versions and limits to `object`; clocks and temperature where NVML tells them.
void add_device(const Session& session, JsonObject& object);
void add_state(const Session& session, JsonObject& object);

// Why a phase did nothing, or not all of it.
enum class Lack : std::uint8_t {
  kNone,
  kWork,    // the options leave it no case and no point
  kGpu,     // it is for a GPU, and this back end has none
  kLinked,  // the CUDA back end is a loaded module, which has only what all back ends have
};

// Each writes its records and says how many checks failed; the status is not ok where the device gave up.
struct PhaseResult {
  Status status;
  int failed = 0;
  bool complete = true;  // false where the time did not last
  Lack lack = Lack::kNone;
};

PhaseResult run_probe(const Session& session);
// The cases of every operator that is wanted, small enough to be judged whole.
PhaseResult run_correctness(const Session& session);
// Operands of a gigabyte and more, caches beyond 4 GB among them, judged on sampled rows.
PhaseResult run_large(const Session& session);
// What the device gives at most: copies, a large product, launches.
PhaseResult run_ceilings(const Session& session);
// The measuring plan in shuffled passes.
PhaseResult run_measure(const Session& session);
// Whole layers and steps.
PhaseResult run_graphs(const Session& session);

struct Phase {
  std::string_view name;  // on the command line
  PhaseResult (*run)(const Session&);
};

inline constexpr std::array<Phase, 6> kPhases{{{"probe", run_probe},
                                               {"correctness", run_correctness},
                                               {"large", run_large},
                                               {"ceilings", run_ceilings},
                                               {"measure", run_measure},
                                               {"graphs", run_graphs}}};

}  // namespace servecast::kernels::gpu_check
