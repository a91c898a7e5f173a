#include "app/run/deployment.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "app/results/text_table.hpp"
#include "app/run/data_files.hpp"
#include "app/run/step_times.hpp"
#include "costmodel/collectives.hpp"
#include "costmodel/model_config.hpp"
#include "costmodel/pipeline.hpp"
#include "costmodel/profile/equal_stages.hpp"
#include "costmodel/profile/simdistserve.hpp"
#include "costmodel/roofline.hpp"
#include "sim/error.hpp"
#include "sim/overloaded.hpp"
#include "sim/pipelined_executor.hpp"
#include "sim/simulation.hpp"

namespace servecast {
namespace {

constexpr std::int64_t kMostStepTokens = std::int64_t{1} << 31;
constexpr Blocks kMemoryForAll{std::int64_t{1} << 40};  // simdistserve has none that could end

Dtypes choose_dtypes(const ModelShape& model, const DtypeChoice& choice) {
  Dtypes dtypes = published_dtypes(model);
  if (choice.weights)
    dtypes.weights = dtypes.experts = parse_dtype(*choice.weights, {{}, 0, "deployment.weight_dtype"});
  if (choice.activations) {
    dtypes.activations = parse_dtype(*choice.activations, {{}, 0, "deployment.activation_dtype"});
    dtypes.kv = dtypes.activations;  // as engines do unless told otherwise
  }
  if (choice.kv) dtypes.kv = parse_dtype(*choice.kv, {{}, 0, "deployment.kv_dtype"});
  return dtypes;
}

Tokens choose_model_len(const Experiment& experiment, const ModelShape& model, std::vector<std::string>& notes) {
  const std::optional<Tokens> asked = experiment.deployment.max_model_len;
  const Tokens made_for = model.max_positions > Tokens{0} ? model.max_positions : ReplicaConfig{}.max_model_len;
  if (asked && *asked > made_for) {
    notes.push_back(fmt::format("max_model_len {} is cut to the model's own {}", asked->count(), made_for.count()));
  }
  return std::min(asked.value_or(made_for), made_for);
}

void cut_reservation(Tokens& max_len, Tokens model_len, std::string_view policy, std::vector<std::string>& notes) {
  if (max_len <= model_len) return;
  notes.push_back(fmt::format("{}.max_len {} is cut to max_model_len {}", policy, max_len.count(), model_len.count()));
  max_len = model_len;
}

// No request is longer than the model allows, so that nobody reserves more.
SchedulerOptions fit_policy(SchedulerOptions policy, Tokens model_len, std::vector<std::string>& notes) {
  if (auto* fixed = std::get_if<StaticOptions>(&policy)) cut_reservation(fixed->max_len, model_len, "static", notes);
  if (auto* orca = std::get_if<OrcaOptions>(&policy)) cut_reservation(orca->max_len, model_len, "orca", notes);
  return for_model_length(policy, model_len);
}

PipelineMemory plan_for(const Experiment& experiment, const Deployment& deployment, Tokens model_len) {
  const LargestStep largest = largest_step(deployment.policy, model_len, deployment.role);
  if (largest.tokens > Tokens{kMostStepTokens} || largest.sampled_rows > kMostStepTokens) {
    throw InputError({{}, 0, "deployment.options"},
                     fmt::format("a step of {} tokens and {} sampled rows is beyond reason", largest.tokens.count(),
                                 largest.sampled_rows));
  }
  MemoryBudget budget;
  budget.capacity = deployment.device.memory_reported.value_or(deployment.device.memory);
  budget.utilisation = experiment.deployment.memory_utilisation;
  budget.reserve = experiment.deployment.memory_reserve;
  budget.batched_tokens = largest.tokens;
  budget.sampled_rows = largest.sampled_rows;
  budget.block_size = experiment.deployment.block_size;
  budget.blocks = experiment.deployment.kv_blocks;
  return plan_pipeline_memory(deployment.model, deployment.parallelism, deployment.dtypes, budget);
}

// What every request takes at least, whatever its length; 0 for policies that look at the request.
Tokens reserved_by_all(const SchedulerOptions& policy) {
  if (const auto* fixed = std::get_if<StaticOptions>(&policy)) return fixed->max_len;
  const auto* orca = std::get_if<OrcaOptions>(&policy);
  return orca != nullptr && orca->reserve == Reservation::kMax ? orca->max_len : Tokens{0};
}

// Token slots that every stage has room for.
Tokens fewest_slots(const PipelineMemory& memory) {
  Tokens fewest = memory.stages.front().slots();
  for (const MemoryPlan& stage : memory.stages) fewest = std::min(fewest, stage.slots());
  return fewest;
}

void set_cache(const Experiment& experiment, const PipelineMemory& memory, const SchedulerOptions& policy,
               ReplicaConfig& config) {
  const ReplicaNeeds needs = replica_needs(policy);
  const MemoryPlan& plan = memory.stages[memory.fullest];
  config.block_size = needs.slots ? Tokens{1} : plan.block_size;
  if (needs.slots) {
    const bool pinned = experiment.deployment.kv_blocks.has_value();
    config.usable_blocks =
        Blocks{pinned ? plan.blocks.count() * plan.block_size.count() : fewest_slots(memory).count()};
  } else {
    config.usable_blocks = plan.blocks - Blocks{needs.null_block ? 1 : 0};
  }
  if (const Tokens reserved = reserved_by_all(policy); blocks_for(reserved, config.block_size) > config.usable_blocks) {
    throw InputError(
        {{}, 0, "deployment.options"},
        fmt::format("{} reserves {} tokens for each request (max_len), but the KV cache holds {}",
                    scheduler_name(policy), reserved.count(), config.usable_blocks.count() * config.block_size.count()),
        "set a smaller max_len, or a smaller batch_size: static plans activations for both together");
  }
  if (config.usable_blocks < Blocks{1}) {
    throw InputError({{}, 0, "model"}, "leaves one KV block, which the policy keeps for itself");
  }
}

ReplicaConfig configure(const Experiment& experiment, const Deployment& deployment, Tokens model_len) {
  const ReplicaNeeds needs = replica_needs(deployment.policy);
  ReplicaConfig config;
  set_cache(experiment, deployment.memory, deployment.policy, config);
  config.max_model_len = model_len;
  config.grows = needs.grows;
  config.hold_until_batch_end = needs.hold_until_batch_end;
  config.deliver_at_batch_end = needs.deliver_at_batch_end;
  config.async_scheduling = experiment.deployment.async_scheduling;
  config.stages = deployment.memory.stages.size();
  config.fills_on_arrival = needs.fills_on_arrival;
  config.chunks_follow = needs.chunks_follow;
  config.attention_window = deployment.model.window();
  if (is_simdistserve(deployment.policy)) {
    config.usable_blocks = kMemoryForAll;
    config.max_model_len = model_len + Tokens{1};  // it decodes one more
  }
  return config;
}

// What the ranks of a decode replica get of one block, each what it holds: latents, and KV heads of which there are
// fewer than ranks, as often as ranks hold them. How often the sender has them is of no matter.
std::vector<KvPart> parts_to_move(const PoolsSection& pools, const Deployment& deployment, Tokens block) {
  Parallelism from, to;
  from.sharding.tensor = *pools.prefill.tensor_parallel;
  from.pipeline = *pools.prefill.pipeline_parallel;
  to.sharding.tensor = *pools.decode.tensor_parallel;
  to.pipeline = *pools.decode.pipeline_parallel;
  return kv_parts(deployment.model, deployment.dtypes.kv, from, to, block);
}

// What moves when KV leaves the replica, and where it goes in need. Requires both pools' parallelism.
void configure_pool(const PoolsSection& pools, Deployment& deployment) {
  ReplicaConfig& config = deployment.replica;
  const bool placed = replica_needs(deployment.policy).places;  // replicas of both pools do both
  config.role = placed ? Role::kBoth : deployment.role;
  config.pull = pools.pull;
  config.pull.pushed = config.tells_prefills = placed;
  if (is_simdistserve(deployment.policy)) {  // nothing moves
    config.pull.waiting_share = 1;
    return;
  }
  const double block = kv_bytes_of(deployment, 1);
  deployment.kv_of_block = parts_to_move(pools, deployment, config.block_size);
  config.block_bytes = Bytes{0};
  for (const KvPart& part : deployment.kv_of_block) config.block_bytes += part.bytes;
  config.host_blocks = Blocks{static_cast<std::int64_t>(pools.host_bytes / block)};
  if (pools.swap_bytes_per_s > 0) config.swap_per_block = from_seconds(block / pools.swap_bytes_per_s);
}

// The experiment as one pool sees it.
Experiment of_pool(const Experiment& experiment, Role role) {
  if (role == Role::kBoth) return experiment;
  Experiment own = experiment;
  PoolsSection& pools = *own.deployment.pools;
  for (PoolSection* each : {&pools.prefill, &pools.decode}) {
    if (!each->tensor_parallel) each->tensor_parallel = experiment.deployment.tensor_parallel;
    if (!each->pipeline_parallel) each->pipeline_parallel = experiment.deployment.pipeline_parallel;
  }
  const PoolSection& pool = role == Role::kPrefill ? pools.prefill : pools.decode;
  own.device = pool.device.value_or(experiment.device);
  if (pool.profile) own.profile = pool.profile;
  own.deployment.replicas = pool.replicas;
  own.deployment.tensor_parallel = *pool.tensor_parallel;
  own.deployment.pipeline_parallel = *pool.pipeline_parallel;
  if (pool.kv_blocks) own.deployment.kv_blocks = pool.kv_blocks;
  return own;
}

// The profile, where there is one, and the device: its own, where the experiment names none.
void find_device(const Experiment& experiment, Deployment& d) {
  if (experiment.profile) {
    d.profile_file = find_profile(experiment);
    d.profile = load_profile(d.profile_file.string());
    d.notes.push_back(describe_profile(*d.profile));
  }
  const std::string& name = experiment.device.empty() ? d.profile->provenance.device : experiment.device;
  d.device_file = find_data(DataKind::kDevice, name, "device");
  d.device = load_device(d.device_file.string());
}

// A cost model with the executor that asks it.
template <class Model, class Executor>
class Owning final : public StepExecutor {
 public:
  template <class... Arguments>
  explicit Owning(const Arguments&... arguments) : model_(arguments...), executor_(model_) {}
  std::optional<StepTimes> start(StepId step, const StepShape& shape, SimTime at) override {
    return executor_.start(step, shape, at);
  }
  void restart() override { executor_.restart(); }

 private:
  Model model_;
  Executor executor_;
};
using PlainExecutor = Owning<RooflineModel, PredictedExecutor>;
using StagesExecutor = Owning<PipelineModel, PipelinedExecutor>;
using ProfileExecutor = Owning<EqualStages, PipelinedExecutor>;

// Of one stage.
std::shared_ptr<StepCostModel> make_stage(const Deployment& d) {
  const auto stages = static_cast<double>(d.parallelism.pipeline);
  if (is_simdistserve(d.policy)) {
    return std::make_shared<SimdistserveModel>(std::get<StepsProfile>(d.profile->steps), d.parallelism.pipeline);
  }
  return make_profile_model(*d.profile, {d.time_scale.prefill / stages, d.time_scale.decode / stages}, d.host);
}

Deployment plan(const Experiment& experiment, Role role) {
  Deployment d;
  d.role = role;
  d.replicas = experiment.deployment.replicas;
  d.model_file = find_data(DataKind::kModel, experiment.model, "model");
  d.model = load_model(d.model_file.string());
  find_device(experiment, d);
  d.parallelism.sharding.tensor = experiment.deployment.tensor_parallel;
  d.parallelism.pipeline = experiment.deployment.pipeline_parallel;
  d.dtypes = choose_dtypes(d.model, experiment.deployment.dtypes);
  for (const std::string& caveat : d.model.caveats) d.notes.push_back("model: " + caveat);
  if (d.model.window()) {
    d.notes.emplace_back("sliding windows shorten attention, not the KV memory: every layer keeps the whole context");
  }
  const Tokens model_len = choose_model_len(experiment, d.model, d.notes);
  d.policy = fit_policy(experiment.deployment.policy, model_len, d.notes);
  d.host = experiment.deployment.host;
  d.time_scale = experiment.deployment.time_scale;
  if (d.profile) {
    check_profile_fits(
        *d.profile, d.profile_file,
        {d.model.name, d.device.name, d.dtypes.weights, experiment.deployment.tensor_parallel, model_len});
    if (d.parallelism.pipeline > 1) {
      d.notes.push_back(
          fmt::format("step times: each of {} stages takes its share of the profile's, alike, and hands on at once",
                      d.parallelism.pipeline));
    }
  }
  if (!experiment.deployment.topology) static_cast<void>(make_executor(d));  // refuses what cannot be computed
  d.memory = plan_for(experiment, d, model_len);
  d.replica = configure(experiment, d, model_len);
  if (role != Role::kBoth) configure_pool(*experiment.deployment.pools, d);
  if (is_simdistserve(d.policy)) {
    d.notes.emplace_back(
        "compat simdistserve: no KV memory, no transfers, no host time but 2 ms and 0.1 us a token of context each "
        "step, "
        "1 ms more each prefill, at most 50,000 tokens of context in a decode step, one decode step more than engines "
        "need: each request has a token more");
  }
  return d;
}

// What knows no file gets the experiment's.
template <class F>
auto in_experiment(const Experiment& experiment, F act) {
  try {
    return act();
  } catch (const InputError& error) {
    if (!error.place().file.empty() || experiment.file.empty()) throw;
    throw InputError({experiment.file.string(), 0, {}}, error.what());
  }
}

}  // namespace

LargestStep largest_step(const SchedulerOptions& policy, Tokens max_model_len, Role role) {
  const std::int64_t rows = max_running(policy, role);
  const Tokens tokens = std::visit(
      Overloaded{
          [](const StaticOptions& o) { return o.max_len * o.batch_size; },
          [&](const OrcaOptions& o) { return std::min(o.max_len, max_model_len); },
          [](const SarathiOptions& o) { return o.token_budget; },
          [&](const DistserveOptions& o) { return role == Role::kDecode ? Tokens{rows} : o.prefill_max_tokens; },
          [&](const SplitwiseOptions& o) { return std::max(o.max_batch_tokens, max_model_len); },
          [](const SglangOptions& o) { return std::min(o.chunked_prefill_size, o.max_prefill_tokens); },
          [](const VllmV0Options& o) { return o.max_num_batched_tokens.value_or(VllmV0Scheduler::kLeastBudget); },
          [](const VllmV1Options& o) { return o.max_num_batched_tokens; }},
      policy);
  return {std::max(tokens, Tokens{rows}), rows};
}

Deployment plan_deployment(const Experiment& experiment, Role role) {
  return in_experiment(experiment, [&] { return plan(of_pool(experiment, role), role); });
}

void check_cost_model(const Experiment& experiment, const Deployment& deployment, const Placed& placed) {
  in_experiment(experiment, [&] { static_cast<void>(make_executor(deployment, placed)); });
}

bool is_simdistserve(const SchedulerOptions& policy) {
  const auto* distserve = std::get_if<DistserveOptions>(&policy);
  return distserve != nullptr && distserve->as_simdistserve;
}

std::unique_ptr<StepExecutor> make_executor(const Deployment& d, const std::optional<Placed>& placed) {
  if (d.profile) {
    return std::make_unique<ProfileExecutor>(make_stage(d), static_cast<std::size_t>(d.parallelism.pipeline));
  }
  if (d.parallelism.pipeline > 1) {
    return std::make_unique<StagesExecutor>(d.model, d.device, d.dtypes, d.parallelism, d.host, placed);
  }
  Interconnect links;
  if (placed) {
    links.tensor =
        std::make_shared<Collectives>(*placed->routes, placed->replica.stages.front(), CustomAllReduce::of(d.device));
  }
  return std::make_unique<PlainExecutor>(d.model, d.device, d.dtypes, d.parallelism.sharding, d.host, links);
}

const MemoryPlan& tightest(const Deployment& deployment) { return deployment.memory.stages[deployment.memory.fullest]; }

std::int64_t devices_of_replica(const Deployment& deployment) { return deployment.parallelism.ranks(); }

std::int64_t device_count(const Deployment& deployment) { return deployment.replicas * devices_of_replica(deployment); }

double kv_bytes_of(const Deployment& deployment, double blocks) {
  const bool slots = replica_needs(deployment.policy).slots;
  double each = 0;
  for (const MemoryPlan& stage : deployment.memory.stages) {
    each += slots ? static_cast<double>(stage.kv_bits_per_token) / 8 : static_cast<double>(stage.block_bytes.count());
  }
  return blocks * each * static_cast<double>(deployment.parallelism.sharding.ranks());
}

namespace {

std::string describe_cache(const Deployment& d) {
  if (is_simdistserve(d.policy)) return "without end, as simdistserve has it";
  const std::int64_t blocks = d.replica.usable_blocks.count();
  const std::int64_t size = d.replica.block_size.count();
  const std::string count = size == 1 ? fmt::format("{} token slots", human_count(blocks))
                                      : fmt::format("{} blocks of {} tokens = {} tokens", human_count(blocks), size,
                                                    human_count(blocks * size));
  return fmt::format("{} ({:.2f} GB)", count, kv_bytes_of(d, static_cast<double>(blocks)) / 1e9);
}

}  // namespace

std::string describe_memory(const Deployment& d) {
  const auto gb = [](double bytes) { return fmt::format("{:.2f} GB", bytes / 1e9); };
  const auto one = [&](Bytes bytes) { return gb(static_cast<double>(bytes.count())); };
  const std::int64_t ranks = d.parallelism.sharding.ranks();
  std::string devices = ranks == 1 ? d.device.name : fmt::format("{} x {}", ranks, d.device.name);
  std::string each = ranks == 1 ? "" : "on each: ";
  if (d.parallelism.pipeline > 1) {
    devices = fmt::format("{} stages of {}{}", d.parallelism.pipeline, ranks == 1 ? "1 x " : "", devices);
    each = fmt::format("on each of stage {}, the fullest: ", d.memory.fullest + 1);
  }
  const MemoryPlan& memory = tightest(d);
  const Bytes reserve = memory.reserve;
  const char* pool = d.role == Role::kPrefill ? "prefill: " : d.role == Role::kDecode ? "decode: " : "";
  const std::string copies = d.replicas > 1 ? fmt::format("{} replicas, each: ", d.replicas) : std::string{};
  return fmt::format("{}{}{} on {}, {}: KV cache {}; {}weights {}, activations {}{} of {} usable", pool, copies,
                     d.model.name, devices, scheduler_name(d.policy), describe_cache(d), each, one(memory.weights),
                     one(memory.activations), reserve > Bytes{0} ? ", reserve " + one(reserve) : "",
                     one(memory.usable));
}

}  // namespace servecast
