// The command line of gpu_check.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "kernels/status.hpp"

namespace servecast::kernels::gpu_check {

inline constexpr std::string_view kUsage = R"(usage: gpu_check [options]

  --backend NAME    cuda (default), emulation or cpu
  --smoke           a few small cases and points: whether it works, not how fast
  --budget TIME     240s, 4min (default): phases are cut so that the whole ends in time
  --out FOLDER      where results go (default: gpu_check_out)
  --only OPERATOR   one operator alone: prefill_attention, gemm, …
  --exclude LIST    operators that are not measured, with commas between them
  --phase NAME      one phase alone, in this process: probe, correctness, large, ceilings, measure or graphs
  --seed N          emulation: the order of warps and blocks; 0 (default): as they are numbered
  --eager           emulation: asynchronous copies happen at once, not when they are waited for
  --filter TEXT     correctness: only cases whose name contains it

Exit code: 0 all passed, 1 something failed, 2 bad arguments, 4 no usable device.
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

// "90", "90s", "4min": seconds, more than 0.
Status parse_duration(std::string_view text, double& seconds);

}  // namespace servecast::kernels::gpu_check
