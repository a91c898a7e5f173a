// One case of the simulator's speed: requests with the Azure conversation trace's lengths through one replica or
// several.
#pragma once

#include <cstdint>
#include <string>

namespace servecast::bench {

struct SimCase {
  std::string policy = "vllm-v1";
  std::int64_t cap = 256;  // sequences at once
  std::int64_t requests = 1'000'000;
  double rate = 0;  // Poisson, requests per second; 0: all at time 0
  std::int64_t replicas = 1;
  std::string router = "round-robin";
  // Half of the replicas prefill and half decode, one on each GPU of DGX H100 hosts; transfers overlap with steps.
  enum class Links { kOnePool, kDirect, kTopology } links = Links::kOnePool;
  double block_share = 1;         // of the blocks that the memory plan gives
  bool files = false;             // requests.csv is written too, one line a request
  bool block_ids = false;         // every block by name instead of a count
  std::int64_t fixed_output = 0;  // where given: `cap` requests of so many output tokens, prompts of 128
};

struct SimTiming {
  double wall_s = 0;          // first event to finished summary
  double completed_rate = 0;  // simulated requests per simulated second
  std::int64_t steps = 0;
  std::int64_t preemptions = 0;
  std::int64_t completed = 0;
};

[[nodiscard]] SimTiming run(const SimCase& what);

}  // namespace servecast::bench
