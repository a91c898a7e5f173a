// Times on a machine that others use too: process CPU time, the best of a few runs.
#pragma once

#include <algorithm>
#include <ctime>
#include <limits>

namespace servecast::bench {

inline double process_seconds() {
  std::timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Seconds a call, the least of what `add` has seen.
class BestOf {
 public:
  template <class Call>
  void add(int calls, Call&& call) {
    const double from = process_seconds();
    for (int i = 0; i < calls; ++i) call();
    seconds_ = std::min(seconds_, (process_seconds() - from) / calls);
  }

  [[nodiscard]] double seconds() const { return seconds_; }

 private:
  double seconds_ = std::numeric_limits<double>::infinity();
};

}  // namespace servecast::bench
