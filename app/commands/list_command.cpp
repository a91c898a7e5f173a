#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <ostream>

#include "app/commands/commands.hpp"
#include "app/experiment/experiment.hpp"
#include "app/results/text_table.hpp"
#include "app/run/data_files.hpp"
#include "costmodel/device.hpp"
#include "costmodel/model_config.hpp"
#include "costmodel/profile/profile.hpp"
#include "costmodel/topology.hpp"
#include "traces/read.hpp"

namespace servecast {
namespace {

constexpr auto kLeft = TextTable::Align::kLeft;

std::string list_models() {
  TextTable table;
  table.column("model", kLeft);
  table.column("parameters");
  table.column("active");
  table.column("context");
  for (const std::string& name : data_names(DataKind::kModel)) {
    const ModelShape model = load_model(find_data(DataKind::kModel, name, "model").string());
    const ParameterCounts counts = count_parameters(model);
    const auto billions = [](std::int64_t count) { return fmt::format("{:.2f} B", static_cast<double>(count) / 1e9); };
    const std::int64_t context = model.max_positions.count();
    table.row({name, billions(counts.total), billions(counts.active), context == 0 ? "" : human_count(context)});
  }
  return table.text();
}

std::string list_devices() {
  TextTable table;
  table.column("device", kLeft);
  table.column("memory");
  table.column("bandwidth");
  table.column("fp16 dense");
  table.column("", kLeft);
  for (const std::string& name : data_names(DataKind::kDevice)) {
    const DeviceSheet device = load_device(find_data(DataKind::kDevice, name, "device").string());
    const auto fp16 = device.peak.fp16;
    table.row({name, fmt::format("{:.1f} GB", static_cast<double>(device.memory.count()) / 1e9),
               fmt::format("{:.0f} GB/s", device.bytes_per_second / 1e9),
               fp16 ? fmt::format("{:.1f} TFLOP/s", *fp16 / 1e12) : "", device.title});
  }
  return table.text();
}

std::string list_topologies() {
  TextTable table;
  table.column("topology", kLeft);
  table.column("hosts");
  table.column("GPUs");
  table.column("device", kLeft);
  table.column("", kLeft);
  for (const std::string& name : data_names(DataKind::kTopology)) {
    const Topology topology = load_topology(find_data(DataKind::kTopology, name, "topology").string());
    table.row({name, std::to_string(topology.hosts().size()), std::to_string(topology.gpu_count()),
               topology.gpu(0).device, topology.title()});
  }
  return table.text();
}

std::string list_profiles() {
  TextTable table;
  for (const char* title : {"profile", "model", "device"}) table.column(title, kLeft);
  table.column("tensor ranks");
  table.column("engine", kLeft);
  for (const std::string& name : data_names(DataKind::kProfile)) {
    const Provenance of = load_profile(find_data(DataKind::kProfile, name, "profile").string()).provenance;
    table.row({name, of.model, of.device, std::to_string(of.tensor_parallel), of.engine});
  }
  return table.text();
}

std::string list_policies() {
  std::string text;
  for (const std::string& name : scheduler_names()) text += name + "\n";
  return text;
}

std::string list_routers() {
  std::string text;
  for (const std::string& name : router_names()) text += name + "\n";
  return text;
}

std::string list_formats() {
  TextTable table;
  table.column("format", kLeft);
  table.column("holds", kLeft);
  for (const FormatInfo& format : trace_formats()) table.row({format.name, format.holds});
  return table.text();
}

}  // namespace

void add_list_command(CLI::App& program, const Console& console, Action& chosen) {
  CLI::App* list = program.add_subcommand("list", "What an experiment can name");
  list->require_subcommand(1);
  const auto add = [&](const char* name, const char* what, std::string (*text)()) {
    list->add_subcommand(name, what)->callback([&console, &chosen, text] {
      chosen = [&console, text] {
        console.out << text();
        return 0;
      };
    });
  };
  add("models", "Models by name, with their parameters", list_models);
  add("devices", "Devices by name, with their peaks", list_devices);
  add("topologies", "Topologies by name, with their hosts", list_topologies);
  add("profiles", "Profiles of measured step times by name", list_profiles);
  add("policies", "Schedulers by name", list_policies);
  add("routers", "Routers by name", list_routers);
  add("formats", "Trace formats by name", list_formats);
}

void add_schema_command(CLI::App& program, const Console& console, Action& chosen) {
  program.add_subcommand("schema", "The JSON Schema of an experiment file, for editors")->callback([&] {
    chosen = [&console] {
      console.out << experiment_json_schema();
      return 0;
    };
  });
}

}  // namespace servecast
