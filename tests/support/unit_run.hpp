// Runs small specs whose steps all last equally long and writes down what happened, step by step.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "policies/registry.hpp"
#include "sim/pipelined_executor.hpp"
#include "sim/simulation.hpp"

namespace servecast::test {

inline SimTime at_second(std::int64_t t) { return SimTime{std::chrono::seconds{t}}; }

struct Spec {
  struct Req {
    std::string name;
    std::int64_t arrival, prompt, output;
  };
  std::vector<Req> requests;
  std::int64_t usable_blocks = 0;  // in slots for policies that count slots
  std::int64_t block_size = 1;
  SchedulerOptions options;
  bool async = false;
  std::int64_t step_seconds = 1;
  std::vector<std::int64_t> stage_seconds = {};  // of a pipeline; empty: none
  std::int64_t handoff_seconds = 0;              // between its stages
};

class ListSource final : public ArrivalSource {
 public:
  explicit ListSource(const std::vector<Spec::Req>& requests) : requests_(requests) {}
  std::optional<Arrival> next() override {
    if (next_ == requests_.size()) return std::nullopt;
    const Spec::Req& r = requests_[next_++];
    return Arrival{at_second(r.arrival), Tokens{r.prompt}, Tokens{r.output}, Tokens{r.output}};
  }
  void finished(RequestId, SimTime) override {}

 private:
  const std::vector<Spec::Req>& requests_;
  std::size_t next_ = 0;
};

class EqualSteps final : public StepCostModel {
 public:
  explicit EqualSteps(std::int64_t length_s) : length_(std::chrono::seconds{length_s}) {}
  StepCost cost(const StepShape&) override { return {length_, Duration{0}}; }

 private:
  Duration length_;
};

class GivenStages final : public StageCostModel {
 public:
  GivenStages(const std::vector<std::int64_t>& lengths_s, std::int64_t handoff_s)
      : lengths_s_(lengths_s), handoff_(std::chrono::seconds{handoff_s}) {}
  [[nodiscard]] std::size_t stages() const override { return lengths_s_.size(); }
  StepCost stage_cost(std::size_t stage, const StepShape&) override {
    return {std::chrono::seconds{lengths_s_[stage]}, Duration{0}};
  }
  Duration handoff_time(std::size_t, const StepShape&) override { return handoff_; }

 private:
  const std::vector<std::int64_t>& lengths_s_;
  Duration handoff_;
};

struct Log final : RunObserver {
  explicit Log(const std::vector<Spec::Req>& list) : requests(list), emitted_at(list.size()) {}

  void planned(const PlannedStep& step, std::span<const std::uint32_t> emitters, const ReplicaState& state) override {
    std::map<std::uint32_t, std::string> parts;
    for (const std::uint32_t r : emitters) parts[r] = requests[r].name + ":D";
    for (std::size_t i = 0; i < step.chunks.size(); ++i) {
      const std::uint32_t r = step.chunks[i].request;
      parts[r] = requests[r].name + ":P" + std::to_string(step.prefills[i].tokens.count());
    }
    std::string text;
    for (const auto& [r, part] : parts) text += (text.empty() ? "" : " ") + part;
    lines[step.number] = text + " free=" + std::to_string(state.kv.free().count());
    pending[step.number].assign(emitters.begin(), emitters.end());
  }
  void ended(std::int64_t step, SimTime started, SimTime ended) override {
    const auto t = [](SimTime x) { return std::chrono::duration_cast<std::chrono::seconds>(x - kStart).count(); };
    steps.push_back("t=" + std::to_string(t(started)) + " " + lines[step]);
    for (const std::uint32_t r : pending[step]) emitted_at[r].push_back(t(ended));
  }

  const std::vector<Spec::Req>& requests;
  std::vector<std::vector<std::int64_t>> emitted_at;  // by request
  std::vector<std::string> steps;                     // "t=0 A:P6 B:P9 free=11"
  std::map<std::int64_t, std::string> lines;
  std::map<std::int64_t, std::vector<std::uint32_t>> pending;
};

struct Outcomes {
  std::vector<std::vector<std::int64_t>> emitted_at;
  std::vector<std::string> steps;
  RunResult result;
};

inline Outcomes run(const Spec& spec, RequestTable& table) {
  const ReplicaNeeds needs = replica_needs(spec.options);
  SimulationConfig config;
  config.replica.usable_blocks = Blocks{spec.usable_blocks};
  config.replica.block_size = Tokens{spec.block_size};
  config.replica.grows = needs.grows;
  config.replica.hold_until_batch_end = needs.hold_until_batch_end;
  config.replica.deliver_at_batch_end = needs.deliver_at_batch_end;
  config.replica.async_scheduling = spec.async;
  config.replica.fills_on_arrival = needs.fills_on_arrival;
  config.replica.chunks_follow = needs.chunks_follow;
  config.replica.stages = std::max<std::size_t>(1, spec.stage_seconds.size());
  config.replica.check_every = 1;
  ListSource source(spec.requests);
  const std::vector<std::int64_t> one{spec.step_seconds};
  EqualSteps model(spec.step_seconds);
  PredictedExecutor executor(model);
  GivenStages stages(spec.stage_seconds.empty() ? one : spec.stage_seconds, spec.handoff_seconds);
  PipelinedExecutor pipelined(stages);
  StepExecutor& runs = spec.stage_seconds.empty() ? static_cast<StepExecutor&>(executor) : pipelined;
  const auto scheduler = make_scheduler(spec.options, table);
  Log log(spec.requests);
  Outcomes out;
  out.result = simulate(config, table, source, *scheduler, runs, &log);
  out.emitted_at = log.emitted_at;
  out.steps = log.steps;
  return out;
}

inline Outcomes run(const Spec& spec) {
  RequestTable table;
  return run(spec, table);
}

// Of several replicas' logs: what each ran, and by request when its tokens came, one replica's after the other's.
template <class Outcomes>
void collect(const std::vector<Log>& logs, std::size_t requests, Outcomes& out) {
  out.emitted_at.resize(requests);
  for (const Log& log : logs) {
    out.steps.push_back(log.steps);
    for (std::size_t r = 0; r < log.emitted_at.size(); ++r) {
      out.emitted_at[r].insert(out.emitted_at[r].end(), log.emitted_at[r].begin(), log.emitted_at[r].end());
    }
  }
}

}  // namespace servecast::test
