#include "sim/run_result.hpp"

#include <algorithm>

namespace servecast {
namespace {

void add(const Counters& part, Counters& to) {
  to.steps += part.steps;
  to.empty_steps += part.empty_steps;
  to.planner_calls += part.planner_calls;
  to.prefill_tokens += part.prefill_tokens;
  to.recomputed_tokens += part.recomputed_tokens;
  to.decode_tokens += part.decode_tokens;
  to.busy += part.busy;
  to.host += part.host;
  to.worked += part.worked;
  to.kv_block_ns += part.kv_block_ns;
  to.kv_token_ns += part.kv_token_ns;
  to.running_ns += part.running_ns;
  to.digest = (to.digest ^ part.digest) * 0x100000001b3ULL;
}

}  // namespace

void add(const Replica& replica, ReplicaResult& to, LogHistogram& gaps) {
  const ReplicaState& state = replica.state();
  const bool first = to.usable_blocks == Blocks{0};
  const std::int64_t prefilled_before = to.counters.prefill_tokens;
  if (first) {
    to.counters = replica.counters();
  } else {
    add(replica.counters(), to.counters);
  }
  for (TimelineSample sample : replica.timeline().samples()) {
    sample.tokens_emitted += to.tokens_emitted;
    sample.prefill_tokens += prefilled_before;
    sample.preemptions += to.preemptions;
    to.timeline.push_back(sample);
  }
  to.usable_blocks = state.kv.usable();
  to.peak_blocks = std::max(to.peak_blocks, state.kv.peak());
  to.block_size = state.kv.block_size();
  to.preemptions += state.preemptions;
  to.tokens_emitted += state.tokens_emitted();
  for (const Lane& lane : state.lanes) gaps.add(lane.emissions.gaps());
}

RunResult total_of(std::vector<ReplicaResult> replicas) {
  RunResult total;
  for (const ReplicaResult& replica : replicas) {
    if (&replica == &replicas.front()) {
      total.counters = replica.counters;
      total.block_size = replica.block_size;
    } else {
      add(replica.counters, total.counters);
    }
    total.usable_blocks += replica.usable_blocks;
    total.peak_blocks += replica.peak_blocks;
    total.preemptions += replica.preemptions;
    total.tokens_emitted += replica.tokens_emitted;
  }
  total.replicas = std::move(replicas);
  return total;
}

}  // namespace servecast
