#include "bench/suites.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fmt/format.h>

#include "bench/h100_llama8b.hpp"

namespace servecast::bench {
namespace {

constexpr std::int64_t kMillion = 1'000'000;
constexpr std::int64_t kUnderCallgrind = 50'000;

double per_request(double total, const SimTiming& t) { return total / static_cast<double>(t.completed); }

// The fastest of a few runs: what the machine's other work cannot slow down.
Measured fastest(const Self& self, const SimCase& what, int runs) {
  Measured best = measure(self, what);
  for (int i = 1; i < runs; ++i) {
    const Measured again = measure(self, what);
    if (again.timing.wall_s < best.timing.wall_s) best = again;
  }
  return best;
}

// Measures one case and prints its line.
SimTiming report(const Self& self, SimCase what, const std::string& load, bool deep) {
  const Measured full = fastest(self, what, what.requests < kMillion ? 1 : 3);
  std::string line = fmt::format("policy={} cap={} load={} requests_per_s={:.0f} steps_per_request={:.2f}", what.policy,
                                 what.cap, load, static_cast<double>(full.timing.completed) / full.timing.wall_s,
                                 per_request(static_cast<double>(full.timing.steps), full.timing));
  if (deep) {
    SimCase tenth = what;
    tenth.requests = what.requests / 10;
    const double growth = full.peak_bytes - measure(self, tenth).peak_bytes;
    SimCase counted = what;
    counted.requests = kUnderCallgrind;
    const auto count = instructions(self, counted);
    line += fmt::format(" instructions_per_request={} bytes_per_request={:.0f}",
                        count ? fmt::format("{:.0f}", *count / static_cast<double>(kUnderCallgrind)) : "unknown",
                        growth / static_cast<double>(what.requests - tenth.requests));
  }
  fmt::print("{} preemptions={}\n", line, full.timing.preemptions);
  std::fflush(stdout);
  return full.timing;
}

}  // namespace

const std::vector<Suite>& suites() {
  static const std::vector<Suite> all{{"sim", run_sim},
                                      {"stretch", run_stretch},
                                      {"cluster", run_cluster},
                                      {"cluster-pools", run_pools},
                                      {"costmodel", run_costmodel},
                                      {"smoke", run_smoke},
                                      {"kernels-gemm", run_kernel_gemm},
                                      {"kernels-attention", run_kernel_attention},
                                      {"gemm-at-every-m", run_every_gemm}};
  return all;
}

void run_smoke(const Self& self) {
  for (const char* policy : {"vllm-v0", "vllm-v1", "sarathi", "orca"})
    report(self, {policy, 256, 50'000}, "backlog", false);
}

void run_sim(const Self& self) {
  for (const char* policy : {"vllm-v0", "vllm-v1", "sarathi", "orca"}) {
    double least = 1e300, most = 0;
    for (const std::int64_t cap : {16, 64, 256, 1024}) {
      SimCase what{policy, cap, kMillion};
      const bool deep = cap >= 256;
      const SimTiming backlog = report(self, what, "backlog", deep);
      least = std::min(least, backlog.wall_s);
      most = std::max(most, backlog.wall_s);
      if (!deep) continue;
      what.rate = 0.8 * backlog.completed_rate;  // the rate at which all that came at once were completed
      report(self, what, "0.8", true);
    }
    fmt::print("policy={} backlog caps 16 to 1024: dearest/cheapest={:.2f}\n", policy, most / least);
    SimCase beside{policy, 256, kMillion};
    beside.files = true;
    report(self, beside, "backlog,requests.csv", false);
    beside.files = false;
    beside.block_share = 0.1;
    report(self, beside, "backlog,blocks=10%", false);
    beside.block_share = 1;
    beside.block_ids = true;
    if (std::string_view(policy) != "orca") report(self, beside, "backlog,block_ids", false);  // orca counts slots
  }
}

// Prefill, ends and summary cost the same for short and long answers: the difference is pure decode.
void run_stretch(const Self& self) {
  for (const char* policy : {"vllm-v0", "vllm-v1", "sarathi", "orca"}) {
    double at_16 = 0;
    for (const std::int64_t cap : {16, 1024}) {
      SimCase what{policy, cap, cap};
      what.block_share = 40;  // all fit: 1,024 sequences of 10,128 tokens
      what.fixed_output = 10'000;
      const SimTiming longer = fastest(self, what, 5).timing;
      what.fixed_output = 1'000;
      const SimTiming shorter = fastest(self, what, 5).timing;
      const double ns = (longer.wall_s - shorter.wall_s) * 1e9 / static_cast<double>(longer.steps - shorter.steps);
      if (cap == 16) at_16 = ns;
      fmt::print("policy={} running={} decode_only ns_per_step={:.0f} ratio_to_16={:.2f}\n", policy, cap, ns,
                 ns / at_16);
    }
  }
}

void run_costmodel(const Self&) {
  H100Llama8B deployment;
  StepShape shape;
  const auto from = std::chrono::steady_clock::now();
  std::int64_t sum = 0;
  constexpr int kCalls = 2'000'000;
  for (int i = 0; i < kCalls; ++i) {
    shape.decode_sequences = shape.sampled_rows = 1 + i % 256;
    shape.decode_context = shape.decode_window_context = Tokens{shape.decode_sequences * (1000 + i % 77)};
    sum += deployment.model().cost(shape).device.count();
  }
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - from;
  fmt::print("costmodel=roofline decode_steps ns_per_step={:.1f} (checksum {})\n", wall.count() * 1e9 / kCalls, sum);
}

}  // namespace servecast::bench
