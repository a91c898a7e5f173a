// The replicas of one run, each with a scheduler and an executor of its own, and what joins them.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "app/run/deployment.hpp"
#include "app/run/placed_fleet.hpp"
#include "sim/request_table.hpp"
#include "sim/simulation.hpp"

namespace servecast {

class ReplicaSet {
 public:
  // `requests` is the oracle of policies that ask one; it must outlive the set.
  ReplicaSet(SimTime record_gaps_from, const RequestTable& requests)
      : record_gaps_from_(record_gaps_from), requests_(requests) {}

  // All replicas of the deployment, which stand where `fleet` has the next ones, where there is one.
  void add(const Deployment& deployment, const PlacedFleet* fleet);
  [[nodiscard]] std::span<const ReplicaSpec> specs();

 private:
  SimTime record_gaps_from_;
  const RequestTable& requests_;
  std::vector<std::unique_ptr<StepExecutor>> executors_;
  std::vector<std::unique_ptr<Scheduler>> schedulers_;
  std::vector<ReplicaSpec> specs_;
};

// The same where a request's ways are decided when it arrives.
class PlacedPools {
 public:
  PlacedPools(const PoolsSection& section, const Deployment& prompt, const Deployment& token);
  [[nodiscard]] Placing& placing() { return placing_; }

 private:
  SplitwiseDispatcher dispatcher_;
  DirectLinks links_;
  Placing placing_;
};

// The way from replicas that prefill to those that decode.
class Pools {
 public:
  Pools(const PoolsSection& section, std::uint64_t seed, std::unique_ptr<TransferNetwork> network);
  [[nodiscard]] Disaggregation& disaggregation() { return disaggregation_; }

 private:
  std::unique_ptr<Router> router_;
  std::unique_ptr<TransferNetwork> network_;
  Disaggregation disaggregation_;
};

}  // namespace servecast
