// gpu_check: are the kernels right on this device, and how fast are they? See docs/kernels.md.
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "kernels/gpu_check/phases.hpp"
#include "kernels/gpu_check/session.hpp"

namespace servecast::kernels::gpu_check {
namespace {

int complain(const Status& status, int code) {
  std::fprintf(stderr, "gpu_check: %s\n", status.message().c_str());
  return code;
}

PhaseResult run_phase(const Session& session) {
  const auto named = [&](const Phase& phase) { return phase.name == session.options.phase; };
  const auto* const phase = std::find_if(kPhases.begin(), kPhases.end(), named);
  return phase == kPhases.end() ? PhaseResult{Status::invalid("there is no such phase")} : phase->run(session);
}

int exit_code(const PhaseResult& result) {
  if (result.failed > 0) return kExitFailed;
  if (!result.complete) return kExitCutOff;
  switch (result.lack) {
    case Lack::kNone:
      return kExitPassed;
    case Lack::kWork:
      return kExitNoWork;
    case Lack::kGpu:
      return kExitNoGpu;
    case Lack::kLinked:
      break;
  }
  return kExitNotLinked;
}

int run_one_phase(const Options& options) {
  const Deadline deadline(options.budget_s);  // opening a device may take seconds
  Device device;
  const Status opened = open_device(options, device);
  if (!opened.ok()) return complain(opened, opened.code() == Status::Code::kNoDevice ? kExitNoDevice : kExitFailed);
  std::error_code error;
  std::filesystem::create_directories(options.out, error);
  const Nvml nvml(device.backend->info().address);
  const PhaseResult result = run_phase({options, device, nvml, deadline});
  if (!result.status.ok()) return complain(result.status, kExitFailed);
  const int code = exit_code(result);
  if (result.lack != Lack::kNone) std::fprintf(stderr, "gpu_check: %s\n", explain({Ended::How::kExit, code}).c_str());
  return code;
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
