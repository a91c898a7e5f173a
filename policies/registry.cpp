#include "policies/registry.hpp"

#include <algorithm>
#include <cassert>

#include "sim/overloaded.hpp"

namespace servecast {

const std::vector<std::string>& scheduler_names() {
  static const std::vector<std::string> kNames{"static", "orca", "vllm-v0", "vllm-v1", "sarathi", "sglang"};
  return kNames;
}

std::string_view scheduler_name(const SchedulerOptions& options) { return scheduler_names()[options.index()]; }

SchedulerOptions default_options(std::string_view name) {
  static const std::vector<SchedulerOptions> kDefaults{StaticOptions{}, OrcaOptions{},    VllmV0Options{},
                                                       VllmV1Options{}, SarathiOptions{}, SglangOptions{}};
  const auto found = std::find(scheduler_names().begin(), scheduler_names().end(), name);
  assert(found != scheduler_names().end());
  return kDefaults[static_cast<std::size_t>(found - scheduler_names().begin())];
}

ReplicaNeeds replica_needs(const SchedulerOptions& options) {
  return std::visit(
      Overloaded{
          [](const StaticOptions& o) {
            return ReplicaNeeds{.grows = false, .hold_until_batch_end = true, .deliver_at_batch_end = o.deliver_at_end};
          },
          [](const OrcaOptions&) { return ReplicaNeeds{.grows = false, .slots = true}; },
          [](const VllmV1Options&) { return ReplicaNeeds{.null_block = true}; },
          [](const SglangOptions&) { return ReplicaNeeds{.slots = true}; }, [](const auto&) { return ReplicaNeeds{}; }},
      options);
}

SchedulerOptions for_model_length(SchedulerOptions options, Tokens max_model_len) {
  if (auto* v0 = std::get_if<VllmV0Options>(&options); v0 != nullptr && !v0->max_num_batched_tokens) {
    v0->max_num_batched_tokens = std::max(VllmV0Scheduler::kLeastBudget, max_model_len);
  }
  return options;
}

std::int64_t max_running(const SchedulerOptions& options) {
  return std::visit(
      Overloaded{[](const StaticOptions& o) { return o.batch_size; }, [](const OrcaOptions& o) { return o.max_batch; },
                 [](const SglangOptions& o) { return o.max_running_requests; },
                 [](const auto& o) { return o.max_num_seqs; }},
      options);
}

std::unique_ptr<Scheduler> make_scheduler(const SchedulerOptions& options, const OutputOracle& oracle) {
  return std::visit(
      Overloaded{
          [](const StaticOptions& o) -> std::unique_ptr<Scheduler> { return std::make_unique<StaticScheduler>(o); },
          [&](const OrcaOptions& o) -> std::unique_ptr<Scheduler> {
            return std::make_unique<OrcaScheduler>(o, oracle);
          },
          [](const VllmV0Options& o) -> std::unique_ptr<Scheduler> { return std::make_unique<VllmV0Scheduler>(o); },
          [](const VllmV1Options& o) -> std::unique_ptr<Scheduler> { return std::make_unique<VllmV1Scheduler>(o); },
          [](const SarathiOptions& o) -> std::unique_ptr<Scheduler> { return std::make_unique<SarathiScheduler>(o); },
          [](const SglangOptions& o) -> std::unique_ptr<Scheduler> { return std::make_unique<SglangScheduler>(o); }},
      options);
}

}  // namespace servecast
