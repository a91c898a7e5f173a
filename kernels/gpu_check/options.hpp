// The command line of gpu_check.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/status.hpp"

namespace servecast::kernels::gpu_check {

inline constexpr std::string_view kUsage = R"(usage: gpu_check [options]

  --backend NAME    cuda (default), emulation or cpu
  --smoke           a few small cases and points: whether it works, not how fast
  --budget TIME     240s, 4min (default): phases are cut so that the whole ends in time
  --out FOLDER      where results go (default: gpu_check_out)
  --only OPERATOR   one operator alone: prefill_attention, gemm, …
  --exclude LIST    operators that are left out, with commas between them
  --phase NAME      one phase alone, in this process: probe, correctness, large, ceilings, measure or graphs
  --seed N          emulation: the order of warps and blocks; 0 (default): as they are numbered
  --eager           emulation: asynchronous copies happen at once, not when they are waited for
  --filter TEXT     correctness: only cases whose name contains it

Exit code: 0 all passed, 1 something failed or nothing was checked, 2 bad arguments, 4 no usable device. Of --phase
also 3 cut off in time, 5 nothing to do, 6 nothing to do without a GPU, 7 in part not available in a loaded module.
)";

struct Options {
  std::string backend = "cuda";
  std::string out = "gpu_check_out";
  std::string only;
  std::string exclude;
  std::string phase;
  std::string filter;
  double budget_s = 240;
  std::uint64_t seed = 0;
  bool smoke = false;
  bool eager = false;
  bool help = false;
};

// The arguments behind the program's name; kInvalid with one message for what is wrong.
Status parse(std::span<const char* const> arguments, Options& options);

// Every operator of the closed set, by name.
[[nodiscard]] std::vector<std::string> operator_names();

// The parts of a text between its commas.
[[nodiscard]] std::vector<std::string> split_list(std::string_view list);

// "90", "90s", "4min": seconds, more than 0.
Status parse_duration(std::string_view text, double& seconds);

}  // namespace servecast::kernels::gpu_check
