// Runs small specs through replicas that prefill and replicas that decode, whose steps all last a second.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "policies/routing/registry.hpp"
#include "tests/support/unit_run.hpp"

namespace servecast::test {

struct PoolSpec {
  std::vector<Spec::Req> requests;
  std::int64_t prefill_blocks = 1000, decode_blocks = 1000;
  std::int64_t prefills = 1, decodes = 1;  // replicas
  std::int64_t block_size = 4;
  SchedulerOptions options = DistserveOptions{};
  PullConfig pull = {};
  double blocks_per_second = 1e15;     // over a link
  TransferNetwork* network = nullptr;  // instead of such links
  std::int64_t block_bytes = 1;
  std::int64_t host_blocks = 1000;
  Duration swap_per_block{0};
  const Membership* membership = nullptr;
  RouterOptions among{.kind = RouterKind::kLeastRequests, .load = Load::kRequests, .slots = {}};  // those that decode
};

struct PoolOutcomes {
  RequestTable table;
  RunResult result;
  std::vector<std::vector<std::string>> steps;        // by replica, those that prefill first
  std::vector<std::vector<std::int64_t>> emitted_at;  // by request

  [[nodiscard]] std::int64_t seconds_in(std::uint32_t request, Cause cause) const {
    return std::chrono::duration_cast<std::chrono::seconds>(table[request].time_in(cause)).count();
  }
};

inline ReplicaConfig pool_config(const PoolSpec& spec, Role role) {
  const ReplicaNeeds needs = replica_needs(spec.options);
  ReplicaConfig config;
  config.role = role;
  config.block_size = Tokens{spec.block_size};
  config.usable_blocks = Blocks{role == Role::kPrefill ? spec.prefill_blocks : spec.decode_blocks};
  config.grows = needs.grows;
  config.pull = spec.pull;
  config.block_bytes = Bytes{spec.block_bytes};
  config.host_blocks = Blocks{spec.host_blocks};
  config.swap_per_block = spec.swap_per_block;
  config.check_every = 1;
  return config;
}

inline void run(const PoolSpec& spec, PoolOutcomes& out) {
  EqualSteps model(1);
  PredictedExecutor executor(model);
  std::vector<std::unique_ptr<Scheduler>> schedulers;
  std::vector<Log> logs(static_cast<std::size_t>(spec.prefills + spec.decodes), Log(spec.requests));
  std::vector<ReplicaSpec> specs;
  for (std::size_t i = 0; i < logs.size(); ++i) {
    const Role role = i < static_cast<std::size_t>(spec.prefills) ? Role::kPrefill : Role::kDecode;
    schedulers.push_back(make_scheduler(spec.options, out.table, role));
    specs.push_back({pool_config(spec, role), schedulers.back().get(), &executor, &logs[i]});
  }
  DirectLinks links(spec.blocks_per_second, Duration{0});
  const auto front = make_router({.kind = RouterKind::kShortestQueue, .load = Load::kWaiting, .slots = {}}, 1);
  const auto among = make_router(spec.among, 1);
  Disaggregation pools{*among, spec.network != nullptr ? *spec.network : links};
  ClusterConfig config;
  config.disaggregation = &pools;
  config.membership = spec.membership;
  ListSource source(spec.requests);
  out.result = simulate(config, specs, *front, out.table, source);
  collect(logs, spec.requests.size(), out);
}

}  // namespace servecast::test
