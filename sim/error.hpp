// The three ways a run can end badly. Library code throws these and never prints or exits; `app/` turns
// them into one message and an exit code.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace servecast {

// Where in a user's input something is wrong. Empty parts are left out of the message.
struct InputPlace {
  std::string file;
  long line = 0;      // 1-based; 0: unknown
  std::string field;  // "workload.arrivals.poisson.rate", "ContextTokens", ...
};

// Bad input (exit code 2). The message reads "file:line: field: what is wrong; hint".
class InputError : public std::runtime_error {
 public:
  InputError(const InputPlace& place, std::string_view problem, std::string_view hint = {});
  [[nodiscard]] const InputPlace& place() const { return place_; }

 private:
  InputPlace place_;
};

// A self-check was breached: a conservation law of the simulator does not hold (exit code 3).
class SelfCheckError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

// Nothing can move any more although requests are open (exit code 3). Names who waits for what.
class StalledError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

// "did you mean 'x'?": the names that begin with `wrong`, else the closest by edit distance, in either case; or
// "expected one of: a, b, c" when none is close.
[[nodiscard]] std::string suggest(std::string_view wrong, const std::vector<std::string>& known);

}  // namespace servecast
