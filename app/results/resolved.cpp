#include "app/results/resolved.hpp"

#include <nlohmann/json.hpp>

namespace servecast {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

struct PolicyOptions {
  Json operator()(const StaticOptions& o) const {
    return {{"batch_size", o.batch_size},
            {"max_len", o.max_len.count()},
            {"padding", o.padding},
            {"deliver_at_end", o.deliver_at_end},
            {"wait_for_batch_s", seconds(o.wait_for_batch)}};
  }
  Json operator()(const OrcaOptions& o) const {
    const char* reserve = o.reserve == Reservation::kMaxTokens    ? "max-tokens"
                          : o.reserve == Reservation::kMax        ? "max"
                          : o.reserve == Reservation::kPowerOfTwo ? "power-of-two"
                                                                  : "exact";
    return {{"max_batch", o.max_batch}, {"reserve", reserve}, {"max_len", o.max_len.count()}};
  }
  Json operator()(const VllmV0Options& o) const {
    return {{"max_num_seqs", o.max_num_seqs},
            {"max_num_batched_tokens", o.max_num_batched_tokens.count()},
            {"watermark", o.watermark}};
  }
  Json operator()(const VllmV1Options& o) const {
    return {{"max_num_batched_tokens", o.max_num_batched_tokens.count()},
            {"max_num_seqs", o.max_num_seqs},
            {"long_prefill_token_threshold", o.long_prefill_token_threshold.count()},
            {"chunked_prefill", o.chunked_prefill},
            {"reserve_full_isl", o.reserve_full_isl},
            {"watermark", o.watermark}};
  }
  Json operator()(const SarathiOptions& o) const {
    return {{"token_budget", o.token_budget.count()},
            {"max_num_seqs", o.max_num_seqs},
            {"watermark", o.watermark},
            {"share_step", o.share_step}};
  }
  Json operator()(const SglangOptions& o) const {
    return {
        {"chunked_prefill_size", o.chunked_prefill_size.count()}, {"max_prefill_tokens", o.max_prefill_tokens.count()},
        {"max_running_requests", o.max_running_requests},         {"new_token_ratio", o.new_token_ratio},
        {"min_new_token_ratio", o.min_new_token_ratio},           {"ratio_decay", o.ratio_decay},
        {"clip_max_new_tokens", o.clip_max_new_tokens.count()},   {"mixed_chunk", o.mixed_chunk}};
  }
};

Json workload_json(const PreparedPoint& point) {
  const WorkloadSection& workload = point.point->experiment.workload;
  Json json{{"arrivals", describe(workload.spec.arrivals)}, {"lengths", describe_lengths(point.point->experiment)}};
  json["requests"] = requests_asked(point);
  json["max_tokens"] = workload.spec.max_tokens ? Json(workload.spec.max_tokens->count()) : Json("pinned");
  json["seed"] = workload.spec.seed;
  if (point.trace == nullptr) return json;
  const TraceReport& report = point.trace->report;
  Json dropped = Json::object();
  for (const TraceReport::Drop& drop : report.dropped) dropped[drop.reason] = drop.rows;
  json["trace"] = {{"file", report.file},           {"format", report.format}, {"rows_read", report.rows_read},
                   {"rows_kept", report.rows_kept}, {"dropped", dropped},      {"tokens", report.tokens},
                   {"notes", report.notes}};
  return json;
}

Json dtypes_json(const Dtypes& dtypes) {
  const auto text = [](DType type) { return std::string(dtype_name(type)); };
  return {{"weights", text(dtypes.weights)},
          {"experts", text(dtypes.experts)},
          {"kv", text(dtypes.kv)},
          {"activations", text(dtypes.activations)}};
}

Json memory_json(const MemoryPlan& plan) {
  return {{"capacity_bytes", plan.capacity.count()},
          {"usable_bytes", plan.usable.count()},
          {"weights_bytes", plan.weights.count()},
          {"activations_bytes", plan.activations.count()},
          {"reserve_bytes", plan.reserve.count()},
          {"kv_bytes", plan.kv.count()},
          {"block_tokens", plan.block_size.count()},
          {"block_bytes", plan.block_bytes.count()},
          {"blocks", plan.blocks.count()}};
}

Json deployment_json(const Deployment& d) {
  return {{"policy", std::string(scheduler_name(d.policy))},
          {"options", std::visit(PolicyOptions{}, d.policy)},
          {"async_scheduling", d.replica.async_scheduling},
          {"tensor_parallel", d.tensor_parallel},
          {"dtypes", dtypes_json(d.dtypes)},
          {"max_model_len_tokens", d.replica.max_model_len.count()},
          {"host_per_step_s", d.host_per_step_s},
          {"host_per_sequence_s", d.host_per_sequence_s},
          {"memory_per_device", memory_json(d.memory)},
          {"usable_blocks", d.replica.usable_blocks.count()},
          {"usable_block_tokens", d.replica.block_size.count()}};
}

}  // namespace

std::string resolved_json(const PreparedPoint& point) {
  const Experiment& experiment = point.point->experiment;
  Json json;
  json["model"] = {{"name", point.deployment.model.name}, {"file", point.deployment.model_file.string()}};
  json["device"] = {{"name", point.deployment.device.name}, {"file", point.deployment.device_file.string()}};
  json["workload"] = workload_json(point);
  json["deployment"] = deployment_json(point.deployment);
  const Slo& slo = experiment.summary.slo;
  json["slo"] = {{"ttft_s", or_null(slo.ttft_s)},
                 {"tpot_s", or_null(slo.tpot_s)},
                 {"e2e_s", or_null(slo.e2e_s)},
                 {"attainment", slo.attainment}};
  json["warm_up_s"] = seconds(experiment.summary.warm_up);
  json["cool_down_s"] = seconds(experiment.summary.cool_down);
  json["horizon_s"] = or_null(experiment.horizon_s);
  json["seed"] = experiment.seed;
  return json.dump();
}

}  // namespace servecast
