#pragma once

#include <string_view>
#include <vector>

#include "bench/measure.hpp"

namespace servecast::bench {

struct Suite {
  std::string_view name;
  void (*run)(const Self&);
};

[[nodiscard]] const std::vector<Suite>& suites();

void run_sim(const Self& self);
void run_stretch(const Self& self);
void run_cluster(const Self& self);
void run_pools(const Self& self);
void run_costmodel(const Self& self);
void run_smoke(const Self& self);
void run_kernel_gemm(const Self& self);
void run_kernel_attention(const Self& self);
void run_every_gemm(const Self& self);

}  // namespace servecast::bench
