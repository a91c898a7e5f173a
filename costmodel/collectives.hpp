// What collectives over a group of GPUs cost: the bytes their algorithm sends over the links of the topology, the
// fullest link deciding, and the time of the steps that follow each other. The algorithms, protocols and step times are
// NCCL's, as its own tuning model states them (nccl_tuning.hpp), and the one-shot and two-shot all-reduce that engines
// use instead for small messages inside a host. Reductions inside a switch (NVLS, SHARP) are not modelled: large
// all-reduces of Hopper and later are faster than told here.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "costmodel/collective.hpp"
#include "costmodel/device.hpp"
#include "costmodel/topology.hpp"

namespace servecast {

enum class CollectiveAlgorithm : std::uint8_t { kNone, kOneShot, kTwoShot, kRing, kTree, kDirect };
enum class CollectiveProtocol : std::uint8_t { kLowLatency, kLowLatency128, kSimple };

[[nodiscard]] std::string_view algorithm_name(CollectiveAlgorithm algorithm);

struct CollectiveCost {
  double seconds = 0;
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::kNone;  // kNone: one rank, nothing to do
  CollectiveProtocol protocol = CollectiveProtocol::kSimple;   // of NCCL's algorithms
};

// Every rank reads its peers' memory itself. vLLM's rule: below 8 MiB, 2, 4, 6 or 8 ranks of one host, all over NVLink
// or only two of them (vllm/distributed/device_communicators/custom_all_reduce.py, should_custom_ar and the default of
// max_size, commit 00d618aa; where symmetric memory is on, limits can be lower and differ by architecture, which is
// not modelled); one shot for two ranks, and for up to four below 512 KiB and up to eight below 256 KiB
// (csrc/custom_all_reduce.cuh, CustomAllreduce::allreduce, commits 036bb685 and c9eabec7 alike).
struct CustomAllReduce {
  double latency_s = 0;  // of the smallest message, whole
  double share = 1;      // of the peak of NVLink and PCIe
  double below_bytes = 8.0 * 1024 * 1024;

  // What the device's sheet says of it.
  [[nodiscard]] static CustomAllReduce of(const DeviceSheet& device);
};

// What one rank sends another, for a message of one byte.
struct Traffic {
  GpuIndex from;
  GpuIndex to;
  double bytes;
};

// Seconds that the fullest link needs for it, at what transfers reach.
[[nodiscard]] double seconds_of(std::span<const Traffic> traffic, const Routes& routes);

class Collectives {
 public:
  // `ranks` in the order of their rank. Without `custom` all is NCCL's. Requires distinct GPUs, at least one.
  Collectives(const Routes& routes, std::vector<GpuIndex> ranks, std::optional<CustomAllReduce> custom = std::nullopt);

  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(ranks_.size()); }

  // `bytes` are what every rank holds, before or after: the vector that is reduced, the gathered whole, the whole
  // before a reduce-scatter, and what each rank sends in an all-to-all, its own part included.
  [[nodiscard]] CollectiveCost cost(Collective collective, double bytes) const;
  [[nodiscard]] CollectiveCost all_reduce(double bytes) const;
  // By NCCL alone, whatever the size.
  [[nodiscard]] CollectiveCost nccl_all_reduce(double bytes) const;
  // Whether an engine takes its own kernel for this size; never without `custom`.
  [[nodiscard]] bool uses_custom(double bytes) const;
  // By that kernel, whatever the size. Requires `custom`.
  [[nodiscard]] CollectiveCost custom_all_reduce(double bytes) const;
  [[nodiscard]] CollectiveCost all_gather(double bytes) const;
  [[nodiscard]] CollectiveCost reduce_scatter(double bytes) const { return all_gather(bytes); }
  [[nodiscard]] CollectiveCost all_to_all(double bytes) const;

 private:
  // One step between neighbours, by protocol.
  struct Steps {
    LinkMedium inside = LinkMedium::kNvlink;  // the slowest medium between ranks of one host
    Duration inside_route{0};                 // the longest way there
    Duration between_route{0};                // and between hosts
  };

  void measure_routes(const Routes& routes);
  [[nodiscard]] std::size_t fewest_ranks() const;
  [[nodiscard]] std::vector<Traffic> ring_traffic() const;
  [[nodiscard]] std::vector<Traffic> tree_traffic() const;
  [[nodiscard]] std::vector<Traffic> pair_traffic(double bytes) const;
  [[nodiscard]] double inside_step(CollectiveAlgorithm algorithm, CollectiveProtocol protocol) const;
  [[nodiscard]] double between_step(CollectiveAlgorithm algorithm, CollectiveProtocol protocol) const;
  [[nodiscard]] CollectiveCost ring(double bytes, double passes, CollectiveProtocol protocol) const;
  [[nodiscard]] CollectiveCost tree(double bytes, CollectiveProtocol protocol) const;
  [[nodiscard]] bool allows(CollectiveProtocol protocol) const;

  std::vector<GpuIndex> ranks_;
  std::vector<std::vector<GpuIndex>> hosts_;  // the ranks of each host that has any
  std::optional<CustomAllReduce> custom_;
  Steps steps_;
  double ring_s_per_byte_ = 0;    // when each rank sends its neighbour one byte
  double tree_s_per_byte_ = 0;    // when one byte goes up and down
  double pair_s_per_byte_ = 0;    // when each rank sends each other one byte
  double custom_s_per_byte_ = 0;  // the same, by the engine's kernel
};

// Sends between pairs of GPUs, all at once.
class PointToPoint {
 public:
  using Pair = std::pair<GpuIndex, GpuIndex>;
  // From a GPU to itself costs nothing.
  PointToPoint(const Routes& routes, std::span<const Pair> pairs);
  // `bytes` over each pair, as one send and receive of NCCL's.
  [[nodiscard]] CollectiveCost cost(double bytes) const;

 private:
  double s_per_byte_ = 0;
  LinkMedium medium_ = LinkMedium::kNvlink;  // the slowest
  Duration longest_{0};
};

}  // namespace servecast
