// Small simulations: a scheduler, arrivals, a cache and a cost model in; records, summary and steps out.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "policies/registry.hpp"
#include "sim/simulation.hpp"
#include "sim/summary.hpp"
#include "tests/figures/figure.hpp"

namespace servecast::figures {

class Listed final : public ArrivalSource {
 public:
  explicit Listed(std::vector<Arrival> arrivals) : arrivals_(std::move(arrivals)) {}
  std::optional<Arrival> next() override {
    if (next_ == arrivals_.size()) return std::nullopt;
    return arrivals_[next_++];
  }
  void finished(RequestId, SimTime) override {}

 private:
  std::vector<Arrival> arrivals_;
  std::size_t next_ = 0;
};

inline Arrival arrival(double at_s, std::int64_t prompt, std::int64_t output) {
  return {kStart + from_seconds(at_s), Tokens{prompt}, Tokens{output}, Tokens{output}};
}

struct SeenStep {
  std::vector<PlannedChunk> chunks;
  std::vector<PrefillChunk> prefills;
  std::int64_t decodes = 0;
  std::vector<std::uint32_t> emitters;
};

// Writes the steps down, and looks at the cache with each of them.
struct Seen final : RunObserver {
  void planned(const PlannedStep& step, std::span<const std::uint32_t> emitters, const ReplicaState& state) override {
    steps.push_back({step.chunks, step.prefills, step.decode_count, {emitters.begin(), emitters.end()}});
    most_running = std::max(most_running, state.running);
    std::int64_t decoding = 0;
    std::int64_t stored = 0;
    for (SeqId id = state.lane->running.first(); id != kNoSeq; id = state.sequences[id].next) {
      const Sequence& sequence = state.sequences[id];
      if (sequence.phase != Sequence::Phase::kDecode) return;  // a prompt's blocks may be taken ahead of its tokens
      ++decoding;
      stored += state.stored_tokens(sequence);
    }
    if (decoding == 0) return;
    // The cache counts its blocks itself; the sequences know their tokens, those of this step included.
    const std::int64_t spare = state.kv.used().count() * state.kv.block_size().count() - stored;
    ++looked_at;
    if (spare < 0 || spare >= decoding * state.kv.block_size().count()) ++wasteful;
  }
  void ended(std::int64_t, SimTime, SimTime) override {}

  std::vector<SeenStep> steps;
  std::int64_t most_running = 0;
  int looked_at = 0;
  int wasteful = 0;  // steps with a block or more a sequence unused, or with one too few
};

struct Served {
  RequestTable requests;
  RunResult result;
  Summary summary;
  Seen seen;
};

struct Server {
  SchedulerOptions options;
  std::int64_t tokens = 0;  // that the cache holds
  std::int64_t block_size = 16;
};

inline std::unique_ptr<Served> serve(const Server& server, const std::vector<Arrival>& arrivals, StepCostModel& model) {
  const ReplicaNeeds needs = replica_needs(server.options);
  SimulationConfig config;
  config.replica.block_size = Tokens{needs.slots ? 1 : server.block_size};
  config.replica.usable_blocks = Blocks{server.tokens / config.replica.block_size.count()};
  config.replica.grows = needs.grows;
  config.replica.hold_until_batch_end = needs.hold_until_batch_end;
  config.replica.deliver_at_batch_end = needs.deliver_at_batch_end;
  auto served = std::make_unique<Served>();
  Listed source(arrivals);
  PredictedExecutor executor(model);
  const auto scheduler = make_scheduler(server.options, served->requests);
  served->result = simulate(config, served->requests, source, *scheduler, executor, &served->seen);
  served->summary = summarise(served->requests, served->result, {});
  return served;
}

}  // namespace servecast::figures
