#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <numeric>
#include <ostream>
#include <utility>

#include "app/commands/commands.hpp"
#include "app/commands/program.hpp"
#include "app/results/text_table.hpp"
#include "app/run/data_files.hpp"
#include "costmodel/collectives.hpp"
#include "costmodel/topology.hpp"

namespace servecast {
namespace {

constexpr auto kLeft = TextTable::Align::kLeft;
constexpr double kKibibyte = 1024;

struct TopologyOptions {
  std::string topology;
  std::int64_t hosts = 0;  // 0: the sheet's
};

std::string gigabytes(double bytes_per_second) { return fmt::format("{:.1f} GB/s", bytes_per_second / 1e9); }
std::string microseconds(double value) { return fmt::format("{:.1f} us", value * 1e6); }

std::string size_text(double bytes) {
  if (bytes < kKibibyte) return fmt::format("{:.0f} B", bytes);
  if (bytes < kKibibyte * kKibibyte) return fmt::format("{:.0f} KiB", bytes / kKibibyte);
  return fmt::format("{:.0f} MiB", bytes / kKibibyte / kKibibyte);
}

std::string gpus_text(const Topology& topology) {
  TextTable table;
  table.column("host", kLeft);
  table.column("GPUs", kLeft);
  table.column("device", kLeft);
  for (const auto& gpus : topology.hosts()) {
    if (gpus.empty()) continue;
    const std::string& name = topology.gpu(gpus.front()).name;
    table.row({name.substr(0, name.find('/')), fmt::format("{} to {}", gpus.front(), gpus.back()),
               topology.gpu(gpus.front()).device});
  }
  return table.text();
}

// The nodes that a way passes, without their numbers: "nvswitch", "pcie, nic, leaf, nic, pcie".
std::string passed(const Topology& topology, const Route& route) {
  std::string text;
  for (std::size_t i = 0; i + 1 < route.links.size(); ++i) {
    std::string name = topology.nodes()[topology.links()[route.links[i]].to].name;
    name = name.substr(name.find('/') == std::string::npos ? 0 : name.find('/') + 1);
    text.append(text.empty() ? "" : ", ").append(name.substr(0, name.rfind('-')));
  }
  return text.empty() ? "directly" : text;
}

// Ways of the first GPU of each host to all GPUs, alike ones told once, by the first of them.
std::string ways_text(const Topology& topology, Routes& routes) {
  struct Alike {
    GpuIndex from, to;
    std::int64_t count = 0;
  };
  std::vector<std::string> order;
  std::map<std::string, Alike> ways;
  for (const auto& gpus : topology.hosts()) {
    for (GpuIndex to = 0; !gpus.empty() && to < topology.gpu_count(); ++to) {
      if (to == gpus.front()) continue;
      const Route route = routes.path(gpus.front(), to);
      const std::string key =
          fmt::format("{}|{}|{}", passed(topology, route), route.bytes_per_second, route.latency.count());
      if (ways.count(key) == 0) order.push_back(key);
      ++ways.try_emplace(key, Alike{gpus.front(), to}).first->second.count;
    }
  }
  TextTable table;
  table.column("way", kLeft);
  table.column("by", kLeft);
  table.column("reaches");
  table.column("latency");
  for (const std::string& key : order) {
    const Alike& way = ways.at(key);
    const Route route = routes.path(way.from, way.to);
    table.row({fmt::format("{} to {}", way.from, way.to), passed(topology, route), gigabytes(route.bytes_per_second),
               microseconds(seconds(route.latency))});
  }
  return table.text();
}

std::vector<GpuIndex> first_gpus(GpuIndex count) {
  std::vector<GpuIndex> gpus(count);
  std::iota(gpus.begin(), gpus.end(), GpuIndex{0});
  return gpus;
}

// The engine's kernel by the constants of the first GPU's device; a group with other devices in it is NCCL's alone.
std::vector<Collectives> all_reduce_groups(const Topology& topology, Routes& routes) {
  std::optional<CustomAllReduce> custom;
  const std::string& device = topology.gpu(0).device;
  if (!device.empty()) {
    custom = CustomAllReduce::of(load_device(find_data(DataKind::kDevice, device, "device").string()));
  }
  const auto host = static_cast<GpuIndex>(topology.hosts()[topology.host_of(0)].size());
  std::vector<Collectives> groups;
  for (GpuIndex count = 2; count <= topology.gpu_count(); count *= 2) {
    if (count > host && count % host != 0) continue;
    std::vector<GpuIndex> gpus = first_gpus(count);
    const bool alike =
        std::all_of(gpus.begin(), gpus.end(), [&](GpuIndex gpu) { return topology.gpu(gpu).device == device; });
    groups.emplace_back(routes, std::move(gpus), alike ? custom : std::nullopt);
  }
  return groups;
}

std::string all_reduce_text(const Topology& topology, Routes& routes) {
  const std::vector<Collectives> groups = all_reduce_groups(topology, routes);
  TextTable table;
  table.column("all-reduce of");
  for (const Collectives& group : groups) {
    table.column(fmt::format("{} GPUs", group.size()));
    table.column("by", kLeft);
  }
  for (double bytes = 1024; bytes <= 1 << 28; bytes *= 8) {
    std::vector<std::string> cells{size_text(bytes)};
    for (const Collectives& group : groups) {
      const CollectiveCost cost = group.all_reduce(bytes);
      cells.push_back(human_seconds(cost.seconds));
      cells.emplace_back(algorithm_name(cost.algorithm));
    }
    table.row(std::move(cells));
  }
  return groups.empty() ? std::string{} : "\n" + table.text();
}

int show_topology(const TopologyOptions& options, const Console& console) {
  const std::string path = find_data(DataKind::kTopology, options.topology, "topology").string();
  const Topology topology =
      load_topology(path, options.hosts > 0 ? std::optional<std::int64_t>(options.hosts) : std::nullopt);
  Routes routes(topology);
  console.out << topology.title() << "\n\n"
              << gpus_text(topology) << "\n"
              << ways_text(topology, routes) << all_reduce_text(topology, routes);
  return kDone;
}

}  // namespace

void add_topology_command(CLI::App& program, const Console& console, Action& chosen) {
  auto o = std::make_shared<TopologyOptions>();
  CLI::App* topology = program.add_subcommand("topology", "The GPUs of a topology, the ways between them, all-reduces");
  topology->add_option("topology", o->topology, "A name of servecast list topologies, or a sheet")->required();
  topology->add_option("--hosts", o->hosts, "Hosts, of a sheet with one kind of them [the sheet's]")
      ->check(CLI::Range(1, 4096));
  topology->callback([o, &console, &chosen] { chosen = [o, &console] { return show_topology(*o, console); }; });
}

}  // namespace servecast
