// gpu_check: are the kernels right on this device, and how fast are they? See docs/kernels.md.
#include <array>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "kernels/gpu_check/phases.hpp"
#include "kernels/gpu_check/session.hpp"

namespace servecast::kernels::gpu_check {
namespace {

int complain(const Status& status, int code) {
  std::fprintf(stderr, "gpu_check: %s\n", status.message().c_str());
  return code;
}

PhaseResult run_phase(const Session& session) {
  using Run = PhaseResult (*)(const Session&);
  constexpr std::array<std::pair<std::string_view, Run>, 6> kPhases{{{"probe", run_probe},
                                                                     {"correctness", run_correctness},
                                                                     {"large", run_large},
                                                                     {"ceilings", run_ceilings},
                                                                     {"measure", run_measure},
                                                                     {"graphs", run_graphs}}};
  for (const auto& [name, run] : kPhases) {
    if (name == session.options.phase) return run(session);
  }
  return {Status::invalid("there is no such phase")};
}

int run_one_phase(const Options& options) {
  Device device;
  const Status opened = open_device(options, device);
  if (!opened.ok()) return complain(opened, opened.code() == Status::Code::kNoDevice ? kExitNoDevice : kExitFailed);
  std::error_code error;
  std::filesystem::create_directories(options.out, error);
  const Nvml nvml(device.backend->info().address);
  const PhaseResult result = run_phase({options, device, nvml, Deadline(options.budget_s)});
  if (!result.status.ok()) return complain(result.status, kExitFailed);
  if (result.failed > 0) return kExitFailed;
  return result.complete ? kExitPassed : kExitCutOff;
}

int run(std::span<const char* const> arguments) {
  Options options;
  const Status parsed = parse(arguments.subspan(1), options);
  if (!parsed.ok()) {
    std::fprintf(stderr, "%s", std::string(kUsage).c_str());
    return complain(parsed, kExitUsage);
  }
  if (options.help) {
    std::printf("%s", std::string(kUsage).c_str());
    return kExitPassed;
  }
  if (!options.phase.empty()) return run_one_phase(options);
  return run_all_phases(std::filesystem::read_symlink("/proc/self/exe").string(), options);
}

}  // namespace
}  // namespace servecast::kernels::gpu_check

int main(int count, char** arguments) {
  return servecast::kernels::gpu_check::run({arguments, static_cast<std::size_t>(count)});
}
