// Runs small specs through machines that prefill and decode alike, placed by Splitwise's dispatcher, whose steps all
// last a second.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "policies/registry.hpp"
#include "policies/routing/registry.hpp"
#include "tests/support/unit_run.hpp"

namespace servecast::test {

struct PlacedSpec {
  std::vector<Spec::Req> requests;
  SplitwiseOptions options = {};
  std::size_t prompts = 1, tokens = 1;         // machines
  std::int64_t blocks = 1000, block_size = 4;  // of each
  std::int64_t block_bytes = 1000;
  double bytes_per_second = 1e15;
  std::int64_t layers = 1;
};

struct PlacedOutcomes {
  RequestTable table;
  RunResult result;
  std::vector<std::vector<std::string>> steps;        // by machine, those of the prompt pool first
  std::vector<std::vector<std::int64_t>> emitted_at;  // by request, in order
};

inline void run(const PlacedSpec& spec, PlacedOutcomes& out) {
  using Pool = SplitwiseDispatcher::Pool;
  EqualSteps model(1);
  PredictedExecutor executor(model);
  std::vector<std::unique_ptr<Scheduler>> schedulers;
  std::vector<Log> logs(spec.prompts + spec.tokens, Log(spec.requests));
  std::vector<ReplicaSpec> specs;
  std::vector<SplitwiseDispatcher::Machine> machines;
  for (std::size_t i = 0; i < logs.size(); ++i) {
    ReplicaConfig config;
    config.block_size = Tokens{spec.block_size};
    config.usable_blocks = Blocks{spec.blocks};
    config.block_bytes = Bytes{spec.block_bytes};
    config.grows = replica_needs(spec.options).grows;
    config.pull.pushed = config.tells_prefills = true;
    config.check_every = 1;
    schedulers.push_back(make_scheduler(spec.options, out.table));
    specs.push_back({config, schedulers.back().get(), &executor, &logs[i]});
    machines.push_back({i < spec.prompts ? Pool::kPrompt : Pool::kToken, Tokens{spec.blocks * spec.block_size}});
  }
  SplitwiseDispatcher dispatcher(spec.options, machines);
  DirectLinks links(spec.bytes_per_second, Duration{0});
  Placing placing{dispatcher, links, spec.layers};
  ClusterConfig config;
  config.placing = &placing;
  const auto router = make_router({}, 1);  // not asked
  ListSource source(spec.requests);
  out.result = simulate(config, specs, *router, out.table, source);
  collect(logs, spec.requests.size(), out);
  for (auto& times : out.emitted_at) std::sort(times.begin(), times.end());
}

}  // namespace servecast::test
