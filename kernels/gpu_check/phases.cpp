#include "kernels/gpu_check/phases.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>

#include "kernels/gpu_check/files.hpp"
#include "kernels/gpu_check/report.hpp"
#include "kernels/gpu_check/session.hpp"

namespace servecast::kernels::gpu_check {
namespace {

// Correctness first: what is wrong is not measured. The sanitizers come last: they may not work, and they are slow.
constexpr PhasePlan kProbe{"probe", 0.1, 1};
constexpr PhasePlan kCorrectness{"correctness", 0.1, 2};  // of one operator
constexpr double kAllCorrectness = 0.4;
constexpr std::array<PhasePlan, 4> kMeasuring{
    {{"ceilings", 0.06, 4}, {"measure", 0.4, 10}, {"graphs", 0.12, 8}, {"large", 0.25, 15}}};
constexpr PhasePlan kMemcheck{"memcheck", 0.15, 10};
constexpr PhasePlan kRacecheck{"racecheck", 0.15, 10};
constexpr int kSanitizerFound = 86;  // any code that nothing else ends with

class Check {
 public:
  Check(std::string program, const Options& options)
      : program_(std::move(program)),
        options_(options),
        deadline_(options.budget_s),
        parts_(options.out + "/parts"),
        excluded_(options.exclude) {}

  int run() {
    std::error_code error;
    std::filesystem::remove_all(parts_, error);
    std::filesystem::create_directories(parts_, error);
    const Ended probed = phase(kProbe, {});
    if (probed.how == Ended::How::kExit && probed.code == kExitNoDevice) return kExitNoDevice;
    const std::vector<std::string> left_out = split_list(options_.exclude);
    for (const std::string& name : operator_names()) {
      const bool wanted = options_.only.empty() || options_.only == name;
      if (wanted && std::find(left_out.begin(), left_out.end(), name) == left_out.end()) correctness(name);
    }
    for (const PhasePlan& plan : kMeasuring) phase(plan, options_.only);
    if (options_.backend == "cuda") sanitizers();
    std::filesystem::remove_all(parts_, error);
    if (!checked_) {
      std::fprintf(stderr, "gpu_check: no case was checked\n");
      return kExitFailed;
    }
    return std::any_of(reports_.begin(), reports_.end(), failed) ? kExitFailed : kExitPassed;
  }

 private:
  static bool failed(const PhaseReport& report) { return report.outcome == Outcome::kFailed; }

  [[nodiscard]] std::vector<std::string> command(std::string_view phase, std::string_view only, double seconds) const {
    std::vector<std::string> arguments{
        program_, "--backend", options_.backend,        "--phase", std::string(phase),           "--out",
        parts_,   "--budget",  std::to_string(seconds), "--seed",  std::to_string(options_.seed)};
    if (options_.smoke) arguments.emplace_back("--smoke");
    if (options_.eager) arguments.emplace_back("--eager");
    if (!only.empty()) arguments.insert(arguments.end(), {"--only", std::string(only)});
    if (!excluded_.empty()) arguments.insert(arguments.end(), {"--exclude", excluded_});
    if (!options_.filter.empty()) arguments.insert(arguments.end(), {"--filter", options_.filter});
    return arguments;
  }

  Ended phase(const PhasePlan& plan, const std::string& only) {
    const double left = plan.phase == kCorrectness.phase ? kAllCorrectness * options_.budget_s - deadline_.elapsed_s()
                                                         : deadline_.left_s();
    const double seconds = allowance(plan, options_.budget_s, left);
    if (seconds <= 0) {
      finish({std::string(plan.phase), only, Outcome::kCutOff, "not begun: no time left", 0});
      return {Ended::How::kDeadline, 0};
    }
    // The process stops by itself a little before it would be stopped.
    const double own = std::max(0.9 * seconds - 1, 0.5 * seconds);
    const double start = deadline_.elapsed_s();
    const Ended ended = run_process(command(plan.phase, only, own), seconds);
    const Outcome outcome = outcome_of(plan.phase, ended);
    finish({std::string(plan.phase), only, outcome, explain(ended), deadline_.elapsed_s() - start});
    return ended;
  }

  void correctness(const std::string& name) {
    // One that stopped itself was right as far as it came.
    const Ended ended = phase(kCorrectness, name);
    const bool right = ended.how == Ended::How::kExit && (ended.code == kExitPassed || ended.code == kExitCutOff);
    checked_ = checked_ || right;
    if (!right) excluded_.append(excluded_.empty() ? "" : ",").append(name);
  }

  // compute-sanitizer where it is installed and works: first on a process that only opens the device.
  void sanitizers() {
    const std::string tool = std::filesystem::exists("/usr/local/cuda/bin/compute-sanitizer")
                                 ? "/usr/local/cuda/bin/compute-sanitizer"
                                 : "compute-sanitizer";
    for (const PhasePlan& plan : {kMemcheck, kRacecheck}) sanitize(tool, plan);
  }

  void sanitize(const std::string& tool, const PhasePlan& plan) {
    const double seconds = allowance(plan, options_.budget_s, deadline_.left_s());
    if (seconds <= 0)
      return finish({std::string(plan.phase), options_.only, Outcome::kCutOff, "not begun: no time left", 0});
    const double start = deadline_.elapsed_s();
    // Both processes append to the log, and write their results where they replace no others.
    const std::string name(plan.phase);
    const std::string log = options_.out + "/" + name + ".log";
    std::error_code error;
    std::filesystem::remove(log, error);
    const auto under_tool = [&](std::string_view inner, double limit) {
      std::vector<std::string> arguments{tool, "--tool", std::string(plan.phase), "--error-exitcode",
                                         std::to_string(kSanitizerFound)};
      std::vector<std::string> own = command(inner, options_.only, 0.8 * limit);
      own.insert(own.end(), {"--smoke", "--out", parts_ + "/" + name});
      arguments.insert(arguments.end(), own.begin(), own.end());
      return run_process(arguments, limit, log);
    };
    Ended ended = under_tool("probe", seconds / 2);
    Outcome outcome = Outcome::kUnavailable;
    if (ended.ok()) {
      ended = under_tool("correctness", seconds - (deadline_.elapsed_s() - start));
      outcome = outcome_of(plan.phase, ended);
    }
    finish({name, options_.only, outcome, explain(ended), deadline_.elapsed_s() - start});
  }

  void finish(PhaseReport report) {
    std::printf("%-12s %-26s %-12s %6.1f s  %s\n", report.phase.c_str(), report.subject.c_str(),
                std::string(name_of(report.outcome)).c_str(), report.seconds, report.ended.c_str());
    std::fflush(stdout);
    reports_.push_back(std::move(report));
    const Status status = write_results(options_.out, parts_, reports_);
    if (!status.ok()) std::fprintf(stderr, "gpu_check: %s\n", status.message().c_str());
  }

  std::string program_;
  Options options_;
  Deadline deadline_;
  std::string parts_;
  std::string excluded_;  // by the options, and what was not right
  bool checked_ = false;
  std::vector<PhaseReport> reports_;
};

}  // namespace

std::string_view name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPassed:
      return "passed";
    case Outcome::kFailed:
      return "failed";
    case Outcome::kCutOff:
      return "cut off";
    case Outcome::kUnavailable:
      return "unavailable";
    case Outcome::kSkipped:
      break;
  }
  return "skipped";
}

Outcome outcome_of(std::string_view phase, const Ended& ended) {
  if (ended.how == Ended::How::kDeadline) {
    return phase == kCorrectness.phase ? Outcome::kFailed : Outcome::kCutOff;
  }
  if (ended.how != Ended::How::kExit) return Outcome::kFailed;
  switch (ended.code) {
    case kExitPassed:
      return Outcome::kPassed;
    case kExitCutOff:
      return Outcome::kCutOff;
    case kExitNoWork:
    case kExitNoGpu:
      return Outcome::kSkipped;
    case kExitNotLinked:
      return Outcome::kUnavailable;
    default:
      return Outcome::kFailed;
  }
}

std::string explain(const Ended& ended) {
  if (ended.how != Ended::How::kExit) return ended.text();
  if (ended.code == kExitNoWork) return "nothing to do";
  if (ended.code == kExitNoGpu) return "nothing to do without a GPU";
  if (ended.code == kExitNotLinked) return "in part not available: loaded as a module";
  return ended.text();
}

double allowance(const PhasePlan& plan, double budget_s, double left_s) {
  const double seconds = std::min(plan.share * budget_s, left_s);
  return std::max(seconds, 0.0) < std::min(plan.needs_s, plan.share * budget_s) ? 0 : seconds;
}

int run_all_phases(const std::string& program, const Options& options) { return Check(program, options).run(); }

}  // namespace servecast::kernels::gpu_check
