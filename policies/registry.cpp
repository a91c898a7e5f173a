#include "policies/registry.hpp"

#include <algorithm>
#include <cassert>

#include "policies/disaggregated/decode_pool.hpp"
#include "policies/disaggregated/simdistserve.hpp"
#include "sim/overloaded.hpp"

namespace servecast {

const std::vector<std::string>& scheduler_names() {
  static const std::vector<std::string> kNames{"static",  "orca",   "vllm-v0",   "vllm-v1",
                                               "sarathi", "sglang", "distserve", "splitwise"};
  return kNames;
}

std::string_view scheduler_name(const SchedulerOptions& options) { return scheduler_names()[options.index()]; }

SchedulerOptions default_options(std::string_view name) {
  static const std::vector<SchedulerOptions> kDefaults{StaticOptions{},    OrcaOptions{},     VllmV0Options{},
                                                       VllmV1Options{},    SarathiOptions{},  SglangOptions{},
                                                       DistserveOptions{}, SplitwiseOptions{}};
  const auto found = std::find(scheduler_names().begin(), scheduler_names().end(), name);
  assert(found != scheduler_names().end());
  return kDefaults[static_cast<std::size_t>(found - scheduler_names().begin())];
}

ReplicaNeeds replica_needs(const SchedulerOptions& options) {
  ReplicaNeeds needs;
  if (const auto* fixed = std::get_if<StaticOptions>(&options)) {
    needs.grows = false;
    needs.hold_until_batch_end = needs.one_place = true;
    needs.deliver_at_batch_end = fixed->deliver_at_end;
  } else if (std::holds_alternative<OrcaOptions>(options)) {
    needs.grows = false;
    needs.slots = needs.one_place = true;
  }
  if (std::holds_alternative<SglangOptions>(options)) needs.slots = true;
  // Their loops wait for the oldest batch once they found nothing more to run.
  needs.fills_on_arrival = !std::holds_alternative<VllmV1Options>(options) &&
                           !std::holds_alternative<SglangOptions>(options) &&
                           !std::holds_alternative<DistserveOptions>(options);
  needs.chunks_follow = std::holds_alternative<VllmV1Options>(options);
  needs.null_block = std::holds_alternative<VllmV1Options>(options);
  needs.places = std::holds_alternative<SplitwiseOptions>(options);
  if (needs.places) needs.grows = false;
  needs.pools = needs.places || std::holds_alternative<DistserveOptions>(options);
  return needs;
}

SchedulerOptions for_model_length(SchedulerOptions options, Tokens max_model_len) {
  if (auto* v0 = std::get_if<VllmV0Options>(&options); v0 != nullptr && !v0->max_num_batched_tokens) {
    v0->max_num_batched_tokens = std::max(VllmV0Scheduler::kLeastBudget, max_model_len);
  }
  return options;
}

std::int64_t max_running(const SchedulerOptions& options, Role role) {
  return std::visit(
      Overloaded{[](const StaticOptions& o) { return o.batch_size; }, [](const OrcaOptions& o) { return o.max_batch; },
                 [](const SglangOptions& o) { return o.max_running_requests; },
                 [](const SplitwiseOptions& o) { return o.max_batch; },
                 [&](const DistserveOptions& o) {
                   return role == Role::kPrefill ? o.prefill_max_batch
                                                 : std::min(o.decode_max_batch, o.decode_max_tokens.count());
                 },
                 [](const auto& o) { return o.max_num_seqs; }},
      options);
}

namespace {

bool limits_each_slot(const SchedulerOptions& options) {
  return std::holds_alternative<StaticOptions>(options) || std::holds_alternative<OrcaOptions>(options) ||
         std::holds_alternative<VllmV0Options>(options) || std::holds_alternative<DistserveOptions>(options);
}

}  // namespace

std::int64_t max_running_in_all(const SchedulerOptions& options, std::int64_t slots, Role role) {
  return max_running(options, role) * (limits_each_slot(options) ? slots : 1);
}

namespace {

// By its own rules, on a replica that prefills.
std::unique_ptr<Scheduler> make_plain(const SchedulerOptions& options, const OutputOracle& oracle) {
  using Made = std::unique_ptr<Scheduler>;
  return std::visit(Overloaded{[](const StaticOptions& o) -> Made { return std::make_unique<StaticScheduler>(o); },
                               [&](const OrcaOptions& o) -> Made { return std::make_unique<OrcaScheduler>(o, oracle); },
                               [](const VllmV0Options& o) -> Made { return std::make_unique<VllmV0Scheduler>(o); },
                               [](const VllmV1Options& o) -> Made { return std::make_unique<VllmV1Scheduler>(o); },
                               [](const SarathiOptions& o) -> Made { return std::make_unique<SarathiScheduler>(o); },
                               [](const SglangOptions& o) -> Made { return std::make_unique<SglangScheduler>(o); },
                               [](const DistserveOptions& o) -> Made { return std::make_unique<DistservePrefill>(o); },
                               [](const SplitwiseOptions& o) -> Made { return std::make_unique<SplitwiseMachine>(o); }},
                    options);
}

}  // namespace

std::unique_ptr<Scheduler> make_scheduler(const SchedulerOptions& options, const OutputOracle& oracle, Role role) {
  if (role != Role::kDecode || replica_needs(options).places) return make_plain(options, oracle);
  if (const auto* distserve = std::get_if<DistserveOptions>(&options)) {
    if (distserve->as_simdistserve) return std::make_unique<SimdistserveDecode>();
    return std::make_unique<DistserveDecode>(*distserve);
  }
  const bool by_arrival =
      std::holds_alternative<VllmV0Options>(options) || std::holds_alternative<SarathiOptions>(options);
  return std::make_unique<DecodePool>(make_plain(options, oracle), max_running(options, role),
                                      limits_each_slot(options),
                                      by_arrival ? RunningOrder::kArrival : RunningOrder::kAdmission);
}

}  // namespace servecast
