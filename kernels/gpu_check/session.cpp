#include "kernels/gpu_check/session.hpp"

#include "kernels/gpu_check/files.hpp"

namespace servecast::kernels::gpu_check {
namespace {

constexpr std::int32_t kFirstWithBf16 = 80;
constexpr std::int32_t kFirstWithFp8 = 89;

}  // namespace

CaseSet Session::case_set() const {
  if (options.backend == "cpu") return CaseSet::kCpu;
  return backend().info().architecture < kFirstWithBf16 ? CaseSet::kCuda75 : CaseSet::kCuda;
}

PlanTarget Session::plan_target() const {
  const BackendInfo& info = backend().info();
  PlanTarget target;
  target.smoke = options.smoke || !device.is_gpu();
  target.processors = info.processors;
  target.method = device.is_gpu() ? GemmMethod::kLibrary : GemmMethod::kOwn;
  target.quantised = info.architecture >= kFirstWithFp8;
  target.latent = options.backend == "cpu" || info.architecture >= kFirstWithBf16;
  if (options.backend == "cpu") {
    target.type = DType::kF32;
    target.layout = WeightLayout::kPanels;
  } else if (info.architecture < kFirstWithBf16) {
    target.type = DType::kF16;
  }
  return target;
}

bool Session::wants(const Operation& operation) const {
  const std::string_view name = name_of(operation);
  if (!options.only.empty() && options.only != name) return false;
  std::string list = ",";
  list.append(options.exclude).append(",");
  std::string entry = ",";
  entry.append(name).append(",");
  return list.find(entry) == std::string::npos;
}

std::string Session::result_path() const {
  std::string path = options.out + "/" + options.phase;
  if (options.phase == "correctness" && !options.only.empty()) path.append("-").append(options.only);
  return path.append(".jsonl");
}

Status Session::write(const std::vector<JsonObject>& records) const {
  return write_file(result_path(), json_lines(records));
}

void add_device(const Session& session, JsonObject& object) {
  const BackendInfo& info = session.backend().info();
  object.add("backend", info.name).add("device", info.device).add("architecture", info.architecture);
  object.add("processors", info.processors).add("memory_bytes", info.memory_bytes).add("l2_bytes", info.l2_bytes);
  object.add("shared_memory_per_block", info.shared_memory_per_block).add("versions", info.versions);
  object.add("driver", session.nvml.driver_version());
}

void add_state(const Session& session, JsonObject& object) {
  const DeviceState state = session.nvml.state();
  object.add("sm_mhz", state.sm_mhz).add("memory_mhz", state.memory_mhz);
  object.add("temperature_c", state.temperature_c).add("power_w", state.power_w);
}

PhaseResult run_probe(const Session& session) {
  JsonObject record;
  record.add("record", "device");
  add_device(session, record);
  add_state(session, record);
  return {session.write({record})};
}

}  // namespace servecast::kernels::gpu_check
