// What joins GPUs: NVLink and its switches, PCIe, sockets, network cards and network switches, as a graph of one-way
// links. A topology sheet, topologies/NAME.yaml, describes one; docs/topology.md describes the file.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/error.hpp"
#include "sim/flow_network.hpp"
#include "sim/time.hpp"

namespace servecast {

// GPUs are numbered host by host, in the order of the sheet.
using GpuIndex = std::uint32_t;
using NodeIndex = std::uint32_t;

enum class NodeKind : std::uint8_t { kGpu, kSwitch, kCpu, kNic };
enum class LinkMedium : std::uint8_t { kNvlink, kPcie, kSocket, kNetwork };

struct TopologyNode {
  std::string name;  // "dgx-0/gpu-3", "leaf-0"
  NodeKind kind = NodeKind::kSwitch;
  std::optional<std::uint32_t> host;  // none: part of the network
  std::string device;                 // of a GPU: a name of devices/, or empty
};

// One direction; a cable is two of them, at index 2k and 2k + 1.
struct TopologyLink {
  NodeIndex from = 0;
  NodeIndex to = 0;
  LinkMedium medium = LinkMedium::kPcie;
  double bytes_per_second = 0;  // peak
  double efficiency = 1;        // share of the peak that transfers reach
  Duration latency{0};

  [[nodiscard]] double reached() const { return bytes_per_second * efficiency; }
};

class Topology {
 public:
  // Throws InputError, at `place`, that names two GPUs without a way between them, or says that there is no GPU.
  Topology(std::string name, std::string title, std::vector<TopologyNode> nodes, std::vector<TopologyLink> links,
           const InputPlace& place = {{}, 0, "hosts"});

  [[nodiscard]] const std::string& name() const { return name_; }    // the file's: "dgx-h100"
  [[nodiscard]] const std::string& title() const { return title_; }  // "NVIDIA DGX H100"
  [[nodiscard]] const std::vector<TopologyNode>& nodes() const { return nodes_; }
  [[nodiscard]] const std::vector<TopologyLink>& links() const { return links_; }

  [[nodiscard]] GpuIndex gpu_count() const { return static_cast<GpuIndex>(gpus_.size()); }
  [[nodiscard]] NodeIndex node_of(GpuIndex gpu) const { return gpus_[gpu]; }
  [[nodiscard]] const TopologyNode& gpu(GpuIndex gpu) const { return nodes_[gpus_[gpu]]; }
  [[nodiscard]] std::uint32_t host_of(GpuIndex gpu) const { return *this->gpu(gpu).host; }
  // The GPUs of each host, in order. A host without any is listed, empty.
  [[nodiscard]] const std::vector<std::vector<GpuIndex>>& hosts() const { return hosts_; }

  // What transfers reach on each link, whole bytes per second, for a FlowNetwork.
  [[nodiscard]] std::vector<std::int64_t> reached_bytes_per_second() const;

 private:
  std::string name_;
  std::string title_;
  std::vector<TopologyNode> nodes_;
  std::vector<TopologyLink> links_;
  std::vector<NodeIndex> gpus_;
  std::vector<std::vector<GpuIndex>> hosts_;
};

struct Route {
  std::vector<LinkIndex> links;  // in order; empty from a GPU to itself
  Duration latency{0};
  double bytes_per_second = 0;  // what the narrowest link reaches; infinite from a GPU to itself
};

// Ways through a topology: the lowest latency, then the fewest links, then the least time per byte summed over the
// links; where all are equal, always the same one. No way leads through a third GPU. Remembers what it searched; any
// thread may ask. The topology must outlive it.
class Routes {
 public:
  explicit Routes(const Topology& topology);
  ~Routes();
  Routes(const Routes&) = delete;
  Routes& operator=(const Routes&) = delete;

  [[nodiscard]] Route path(GpuIndex from, GpuIndex to) const;
  [[nodiscard]] const Topology& topology() const { return topology_; }

 private:
  class Searched;

  const Topology& topology_;
  std::unique_ptr<Searched> searched_;
};

// `hosts` replaces the sheet's number of hosts; it must then have one kind of host. Throws InputError with file, line
// and field.
[[nodiscard]] Topology load_topology(const std::string& path, std::optional<std::int64_t> hosts = std::nullopt);
[[nodiscard]] Topology parse_topology(const std::string& yaml, const std::string& file,
                                      std::optional<std::int64_t> hosts = std::nullopt);

}  // namespace servecast
