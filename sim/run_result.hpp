// What a run leaves behind, besides its requests.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/log_histogram.hpp"
#include "sim/replica.hpp"
#include "sim/time.hpp"
#include "sim/timeline.hpp"
#include "sim/units.hpp"

namespace servecast {

struct ReplicaResult {
  Role role = Role::kBoth;
  std::int64_t requests = 0;  // sent to it, or handed over to it
  std::int64_t lost = 0;      // of those, when it failed
  Duration up{0};             // in which it was there, or was starting
  Counters counters;
  std::vector<TimelineSample> timeline;
  Blocks usable_blocks, peak_blocks;
  Tokens block_size;
  std::int64_t preemptions = 0;
  std::int64_t tokens_emitted = 0;
};

// KV that went from one replica to another.
struct Moved {
  std::int64_t transfers = 0;
  Bytes started, arrived;
  Bytes ahead;  // of those that arrived: had gone out part by part while the prompt was computed
  Bytes cut;    // asked for by transfers that ended with a replica that failed
};

// The sums over the replicas stand beside them: those of a single replica are its own.
struct RunResult {
  Counters counters;
  LogHistogram gaps;  // inter-token gaps of all requests
  std::vector<ReplicaResult> replicas;
  SimTime ended_at = kStart;        // when the last request ended, or the horizon
  bool stopped_at_horizon = false;  // requests were open or arrivals still to come
  Blocks usable_blocks;
  Blocks peak_blocks;  // of several replicas: the sum of each one's own peak
  Tokens block_size;   // of the first
  std::int64_t preemptions = 0;
  std::int64_t tokens_emitted = 0;
  Moved moved;
};

// What the replica did, and gaps that it recorded, added to what it did before it failed or left.
void add(const Replica& replica, ReplicaResult& to, LogHistogram& gaps);

// Adds up what the replicas did. Digests are mixed in order.
[[nodiscard]] RunResult total_of(std::vector<ReplicaResult> replicas);

}  // namespace servecast
