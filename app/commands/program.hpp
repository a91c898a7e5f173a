// The program `servecast`: arguments in, an exit code out.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace servecast {

// What a shell sees.
enum ExitCode : int {
  kDone = 0,
  kNotMet = 1,    // --require-slo, and some point does not meet its SLO
  kBadInput = 2,  // arguments, files, or an experiment that cannot run
  kInternal = 3,  // a self-check was breached, nothing could move, or a fault of ours
};

// Results go to `out`, progress, warnings and errors to `err`; every error is one message that begins with
// "servecast: error: ". Throws nothing.
[[nodiscard]] int run_program(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err);

}  // namespace servecast
