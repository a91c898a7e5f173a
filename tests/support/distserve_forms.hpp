// Mean time to first token of prefills that all take the same time D, of Poisson arrivals at rate R, in order:
// the closed forms of DistServe (arXiv:2401.09670), section 3.
#pragma once

namespace servecast::test {

// One server (M/D/1): D + R D² / (2 (1 − R D)).
[[nodiscard]] inline double single_server_ttft(double rate, double service) {
  return service + rate * service * service / (2 * (1 - rate * service));
}

// Two pipeline stages of D / 2, the second of which never makes anyone wait: D + R D² / (4 (2 − R D)).
[[nodiscard]] inline double two_stage_ttft(double rate, double service) {
  return service + rate * service * service / (4 * (2 - rate * service));
}

// Tensor parallelism that is K times as fast: D/K + R D² / (2 K (K − R D)).
[[nodiscard]] inline double tensor_parallel_ttft(double rate, double service, double speedup) {
  return single_server_ttft(rate, service / speedup);
}

}  // namespace servecast::test
