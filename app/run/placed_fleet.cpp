#include "app/run/placed_fleet.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>
#include <utility>

#include "app/run/data_files.hpp"
#include "sim/error.hpp"

namespace servecast {
namespace {

// What knows no file is told at the experiment's line.
template <class F>
auto at_place(const InputPlace& place, F act) {
  try {
    return act();
  } catch (const InputError& error) {
    if (!error.place().file.empty()) throw;
    const std::string& field = error.place().field;
    const std::string message = error.what();  // "field: problem; hint"
    throw InputError(place, field.empty() ? message : message.substr(field.size() + 2));
  }
}

std::filesystem::path find_sheet(const TopologyChoice& choice) {
  return at_place(choice.place, [&] { return find_data(DataKind::kTopology, choice.sheet, "topology"); });
}

std::string gpus(std::int64_t count) { return fmt::format("{} GPU{}", count, count == 1 ? "" : "s"); }

std::string hosts(const Topology& topology) {
  const std::size_t count = topology.hosts().size();
  return fmt::format("{} host{}", count, count == 1 ? "" : "s");
}

[[noreturn]] void fail_without_device(const InputPlace& place, const Topology& topology, const std::string& device) {
  std::set<std::string> devices;
  for (GpuIndex gpu = 0; gpu < topology.gpu_count(); ++gpu) devices.insert(topology.gpu(gpu).device);
  throw InputError(place, fmt::format("{} has no {}", topology.name(), device),
                   fmt::format("its GPUs are {}", fmt::join(devices, ", ")));
}

// Of each device, before any is given out: so that the message tells of all replicas.
void check_room(const InputPlace& place, const Topology& topology, std::span<const Deployment* const> pools) {
  std::map<std::string, std::int64_t> needed;
  for (const Deployment* pool : pools) needed[pool->device.name] += device_count(*pool);
  const Placer placer(topology);
  for (const auto& [device, count] : needed) {
    const std::int64_t there = placer.free_count(device);  // those of no stated device too
    if (there == 0) fail_without_device(place, topology, device);
    if (count <= there) continue;
    throw InputError(place,
                     fmt::format("the replicas need {} of device {}, and {} with {} has {}: {} too few", gpus(count),
                                 device, topology.name(), hosts(topology), there, count - there),
                     "give it more hosts, or ask for fewer replicas");
  }
}

// "dgx-0, dgx-1", or "dgx-0 to dgx-7".
std::string host_names(const Topology& topology, const std::set<std::uint32_t>& those) {
  const auto name = [&](std::uint32_t host) {
    const std::string& gpu = topology.gpu(topology.hosts()[host].front()).name;
    return gpu.substr(0, gpu.find('/'));
  };
  const bool in_a_row = *those.rbegin() - *those.begin() + 1 == those.size();
  if (in_a_row && those.size() > 2) return name(*those.begin()) + " to " + name(*those.rbegin());
  std::string text;
  for (const std::uint32_t host : those) text += (text.empty() ? "" : ", ") + name(host);
  return text;
}

}  // namespace

PlacedFleet::PlacedFleet(const TopologyChoice& choice, std::span<const Deployment* const> pools)
    : file_(find_sheet(choice)),
      topology_(at_place(choice.place, [&] { return load_topology(file_.string(), choice.hosts); })),
      routes_(topology_) {
  check_room(choice.place, topology_, pools);
  at_place(choice.place, [&] { place(choice, pools); });
}

void PlacedFleet::place(const TopologyChoice& choice, std::span<const Deployment* const> pools) {
  Placer placer(topology_);
  for (const Deployment* pool : pools) {
    pools_.push_back({pool->role, replicas_.size(), replicas_.size() + static_cast<std::size_t>(pool->replicas)});
    while (replicas_.size() < pools_.back().last) {
      try {
        replicas_.push_back(placer.place(pool->parallelism, pool->device.name));
      } catch (const InputError& error) {
        throw InputError(choice.place, fmt::format("no room for replica {}: {}", replicas_.size(), error.what()));
      }
    }
  }
}

std::unique_ptr<KvNetwork> PlacedFleet::network(const Deployment& prefill, const Deployment& decode) const {
  const auto all = std::span<const PlacedReplica>(replicas_);
  return std::make_unique<KvNetwork>(
      routes_, decode.kv_of_block,
      KvNetwork::Pool{prefill.parallelism, all.subspan(pools_[0].first, pools_[0].last - pools_[0].first)},
      KvNetwork::Pool{decode.parallelism, all.subspan(pools_[1].first, pools_[1].last - pools_[1].first)});
}

std::string PlacedFleet::hosts_of(const PoolPlace& pool) const {
  std::set<std::uint32_t> those;
  std::int64_t count = 0;
  for (std::size_t replica = pool.first; replica < pool.last; ++replica) {
    for (const auto& stage : replicas_[replica].stages) {
      for (const GpuIndex gpu : stage) those.insert(topology_.host_of(gpu));
      count += std::ssize(stage);
    }
  }
  return fmt::format("on {} ({})", host_names(topology_, those), gpus(count));
}

std::string PlacedFleet::describe() const {
  std::string text = fmt::format("placed on {}, {}: ", topology_.name(), hosts(topology_));
  for (const PoolPlace& pool : pools_) {
    if (&pool != &pools_.front()) text += "; ";
    if (pool.role != Role::kBoth) text += pool.role == Role::kPrefill ? "prefill " : "decode ";
    text += hosts_of(pool);
  }
  return text;
}

std::string link_text(const Topology& topology, LinkIndex link) {
  const TopologyLink& asked = topology.links()[link];
  return fmt::format("from {} to {}", topology.nodes()[asked.from].name, topology.nodes()[asked.to].name);
}

}  // namespace servecast
