#include "app/results/planned.hpp"

#include <nlohmann/json.hpp>

namespace servecast {
namespace {

using Json = nlohmann::ordered_json;

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

// By replica, the GPUs of each stage.
Json placement_json(const PlacedFleet& fleet) {
  Json replicas = Json::array();
  for (const PlacedReplica& replica : fleet.replicas()) {
    Json stages = Json::array();
    for (const auto& stage : replica.stages) {
      Json gpus = Json::array();
      for (const GpuIndex gpu : stage) gpus.push_back(fleet.topology().gpu(gpu).name);
      stages.push_back(std::move(gpus));
    }
    replicas.push_back(std::move(stages));
  }
  return replicas;
}

Json trace_json(const TraceReport& report) {
  Json dropped = Json::object();
  for (const TraceReport::Drop& drop : report.dropped) dropped[drop.reason] = drop.rows;
  return {{"file", report.file},           {"format", report.format}, {"rows_read", report.rows_read},
          {"rows_kept", report.rows_kept}, {"dropped", dropped},      {"tokens", report.tokens},
          {"notes", report.notes}};
}

}  // namespace

std::string planned_json(const PreparedPoint& point) {
  const Deployment& d = point.deployment;
  Json json;
  json["model"] = d.model.name;
  json["device"] = d.device.name;
  json["dtypes"] = dtypes_json(d.dtypes);
  json["max_model_len_tokens"] = d.replica.max_model_len.count();
  json["memory_per_device"] = memory_json(tightest(d));
  json["usable_blocks"] = d.replica.usable_blocks.count();
  json["usable_block_tokens"] = d.replica.block_size.count();
  if (point.decode) {
    json["decode_pool"] = {{"device", point.decode->device.name},
                           {"memory_per_device", memory_json(tightest(*point.decode))},
                           {"usable_blocks", point.decode->replica.usable_blocks.count()}};
  }
  if (point.fleet) {
    json["topology"] = point.fleet->topology().name();
    json["placement"] = placement_json(*point.fleet);
  }
  json["requests"] = requests_asked(point);
  json["notes"] = d.notes;
  if (point.trace != nullptr) json["trace"] = trace_json(point.trace->report);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace servecast
