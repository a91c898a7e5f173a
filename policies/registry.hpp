// The schedulers by name, with their options, and what each asks of the replica it runs on.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "policies/disaggregated/distserve.hpp"
#include "policies/disaggregated/splitwise.hpp"
#include "policies/scheduling/orca.hpp"
#include "policies/scheduling/sarathi.hpp"
#include "policies/scheduling/sglang.hpp"
#include "policies/scheduling/static_batch.hpp"
#include "policies/scheduling/vllm_v0.hpp"
#include "policies/scheduling/vllm_v1.hpp"
#include "sim/handover.hpp"

namespace servecast {

using SchedulerOptions = std::variant<StaticOptions, OrcaOptions, VllmV0Options, VllmV1Options, SarathiOptions,
                                      SglangOptions, DistserveOptions, SplitwiseOptions>;

// "static", "orca", "vllm-v0", "vllm-v1", "sarathi", "sglang", "distserve", "splitwise"; in this order.
[[nodiscard]] const std::vector<std::string>& scheduler_names();
[[nodiscard]] std::string_view scheduler_name(const SchedulerOptions& options);
// The defaults of a scheduler; requires one of scheduler_names().
[[nodiscard]] SchedulerOptions default_options(std::string_view name);

// What a scheduler asks of its replica.
struct ReplicaNeeds {
  bool grows = true;        // paged: sequences take blocks as they decode; otherwise reserved at admission
  bool slots = false;       // memory is counted in token slots, not in blocks
  bool null_block = false;  // one block of the cache is never handed out
  bool hold_until_batch_end = false;
  bool deliver_at_batch_end = false;
  bool fills_on_arrival = true, chunks_follow = false;  // as ReplicaConfig's
  bool pools = false;                                   // prefill and decode need replicas of their own
  bool places = false;                                  // and where a request goes in both is decided when it arrives
  bool one_place =
      false;  // prefill and decode can't have replicas of their own: memory is held to a batch's or answer's end
};
[[nodiscard]] ReplicaNeeds replica_needs(const SchedulerOptions& options);

// Options that depend on the model's length and were left open, filled in.
[[nodiscard]] SchedulerOptions for_model_length(SchedulerOptions options, Tokens max_model_len);

// The most requests that it runs at once on a replica of that role, in one slot of a pipeline.
[[nodiscard]] std::int64_t max_running(const SchedulerOptions& options, Role role = Role::kBoth);
// In all slots: some policies limit what runs in each, others what runs in all together.
[[nodiscard]] std::int64_t max_running_in_all(const SchedulerOptions& options, std::int64_t slots,
                                              Role role = Role::kBoth);

// `oracle` is for reservations that know the answer's length; it must outlive the scheduler.
[[nodiscard]] std::unique_ptr<Scheduler> make_scheduler(const SchedulerOptions& options, const OutputOracle& oracle,
                                                        Role role = Role::kBoth);

}  // namespace servecast
