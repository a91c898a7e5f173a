// As many replicas as keep a measure at its target: the rule of Kubernetes' horizontal autoscaler
// (kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale, "Algorithm details").
#pragma once

#include <cstdint>

#include "sim/membership.hpp"

namespace servecast {

struct TargetTrackingOptions {
  enum class Measure : std::uint8_t {
    kBusy,     // share of the time in which a replica ran a step
    kWaiting,  // requests waiting for each replica
  };
  Measure measure = Measure::kBusy;
  double target = 0.7;     // above 0
  double tolerance = 0.1;  // no change while measure / target is so close to 1
  std::int64_t least = 1, most = 1;
};

// ceil(taking · measure / target), within [least, most]. Replicas that start count as though they measured 0.
class TargetTracking final : public Autoscaler {
 public:
  explicit TargetTracking(const TargetTrackingOptions& options) : options_(options) {}
  [[nodiscard]] std::int64_t wanted(const FleetLoad& load) override;

 private:
  TargetTrackingOptions options_;
};

}  // namespace servecast
