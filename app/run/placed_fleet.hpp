// Where the replicas of a run stand: each on GPUs of a topology.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/experiment/experiment.hpp"
#include "app/run/deployment.hpp"
#include "costmodel/kv_network.hpp"
#include "costmodel/parallelism.hpp"
#include "costmodel/pipeline.hpp"
#include "costmodel/topology.hpp"

namespace servecast {

class PlacedFleet {
 public:
  // The replicas of all pools, the first ones first; each on GPUs of its pool's device, or
  // of no stated one. Throws InputError: where the
  // sheet is wrong, at its line; where it is not known or has too few GPUs, at that of the experiment, with how many.
  PlacedFleet(const TopologyChoice& choice, std::span<const Deployment* const> pools);

  [[nodiscard]] const std::filesystem::path& file() const { return file_; }
  [[nodiscard]] const Topology& topology() const { return topology_; }
  [[nodiscard]] const Routes& routes() const { return routes_; }
  [[nodiscard]] const std::vector<PlacedReplica>& replicas() const { return replicas_; }  // by number
  [[nodiscard]] Placed placed(std::size_t replica) const { return {&routes_, replicas_[replica]}; }

  // Between the pools that it was placed for. The fleet and the deployments must outlive it. Requires two pools.
  [[nodiscard]] std::unique_ptr<KvNetwork> network(const Deployment& prefill, const Deployment& decode) const;

  // "placed on dgx-h100, 2 hosts: prefill on dgx-0 (8 GPUs); decode on dgx-1 (8 GPUs)"
  [[nodiscard]] std::string describe() const;

 private:
  struct PoolPlace {
    Role role;
    std::size_t first, last;  // replicas; the last is exclusive
  };

  void place(const TopologyChoice& choice, std::span<const Deployment* const> pools);
  [[nodiscard]] std::string hosts_of(const PoolPlace& pool) const;

  std::filesystem::path file_;
  Topology topology_;
  Routes routes_;
  std::vector<PlacedReplica> replicas_;
  std::vector<PoolPlace> pools_;
};

// "from dgx-0/nic-3 to leaf-0"
[[nodiscard]] std::string link_text(const Topology& topology, LinkIndex link);

}  // namespace servecast
