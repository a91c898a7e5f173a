// servecast_bench [filter]: runs the benchmarks whose name contains `filter` (all without one), one line a case.
//   sim        a million requests through one replica, by policy, cap and load
//   stretch    a fixed set that only decodes: cost per step at 16 and at 1,024 running
//   cluster    a million requests through 16 replicas, by router, and through 1 to 1,024
//   costmodel  nanoseconds a step of the roofline
//   smoke      the first of each, short
//   kernels    the CPU set: its product beside OpenBLAS, decode attention beside memcpy
//   gemm-at-every-m  the product at each m from 1 to 256, some five minutes
// servecast_bench --case POLICY CAP REQUESTS RATE BLOCK_SHARE FIXED_OUTPUT IDS FILES REPLICAS ROUTER: one run, for the
// parent that measures it.
#include <fmt/format.h>
#include <string_view>

#include "bench/measure.hpp"
#include "bench/suites.hpp"

int main(int argc, char** argv) {
  using namespace servecast::bench;
  if (argc > 1 && std::string_view(argv[1]) == "--case") return run_child({argv + 2, argv + argc});
  const std::string_view filter = argc > 1 ? argv[1] : "";
  const Self self{argv[0]};
  bool ran = false;
  for (const Suite& suite : suites()) {
    if (suite.name.find(filter) == std::string_view::npos) continue;
    ran = true;
    suite.run(self);
  }
  if (!ran) fmt::print(stderr, "servecast_bench: no benchmark matches '{}'\n", filter);
  return ran ? 0 : 2;
}
