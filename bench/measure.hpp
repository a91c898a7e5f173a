// Each run is a process of its own: its peak memory and, under callgrind, its instructions are its own.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/sim_case.hpp"

namespace servecast::bench {

struct Self {
  std::string path;  // of this executable
};

struct Measured {
  SimTiming timing;
  double peak_bytes = 0;
};

// The child's side: runs the case that the arguments say and prints its figures on one line.
int run_child(const std::vector<std::string>& arguments);

[[nodiscard]] Measured measure(const Self& self, const SimCase& what);
// Instructions of the timed part; nothing where valgrind is not installed.
[[nodiscard]] std::optional<double> instructions(const Self& self, const SimCase& what);

}  // namespace servecast::bench
