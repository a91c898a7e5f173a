// Runs a program and waits for it, no longer than told.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace servecast::kernels::gpu_check {

struct Ended {
  enum class How : std::uint8_t { kExit, kSignal, kDeadline, kNotStarted };
  How how = How::kNotStarted;
  int code = 0;  // the exit status, or the signal

  [[nodiscard]] bool ok() const { return how == How::kExit && code == 0; }
  [[nodiscard]] std::string text() const;  // "exit 3", "signal 11", "stopped at its deadline", "did not start"
};

// `arguments` begins with the program; without a slash it is looked for on the PATH. Output goes where ours goes, or
// into `log` if that is not empty. At the deadline the program is killed.
Ended run_process(const std::vector<std::string>& arguments, double seconds, const std::string& log = {});

}  // namespace servecast::kernels::gpu_check
