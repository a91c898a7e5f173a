// Step times from work over peaks, with efficiency curves. The default where no profile exists.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "costmodel/collectives.hpp"
#include "costmodel/device.hpp"
#include "costmodel/host_time.hpp"
#include "costmodel/memory.hpp"
#include "costmodel/work.hpp"
#include "sim/step.hpp"

namespace servecast {

// t ≥ max(FLOPs / peak, bytes / bandwidth), bytes = weights and KV read and written.
struct RooflineBound {
  double compute_s = 0;
  double memory_s = 0;
  [[nodiscard]] double seconds() const { return std::max(compute_s, memory_s); }
};

// The published formats, with fp16 for bf16 where the device has no such rate (same bytes; what engines do there).
[[nodiscard]] Dtypes runnable_dtypes(const ModelShape& model, const DeviceSheet& device);

// A message over the device sheet's link while `ranks` devices use it, by summed(0, bytes that one of them sends). Over
// PCIe more than two share what joins the processors.
[[nodiscard]] KernelTime link_time(const DeviceSheet& device, std::int64_t ranks);

// What a topology says of the groups that one rank belongs to. Where a group is not given, the device sheet's link
// joins it, and it must fit a host.
struct Interconnect {
  std::shared_ptr<const Collectives> tensor;   // Sharding::tensor ranks
  std::shared_ptr<const Collectives> experts;  // all ranks that share the experts
};

class RooflineModel final : public StepCostModel {
 public:
  // `model` is a whole model, or a stage of one. Throws InputError where the ranks do not divide it or exceed a host,
  // or the device does not compute in the activations' type.
  RooflineModel(const ModelShape& model, const DeviceSheet& device, const Dtypes& dtypes, const Sharding& sharding,
                HostTime host = {}, Interconnect links = {});
  RooflineModel(const ModelShape& model, const DeviceSheet& device, const Dtypes& dtypes, std::int64_t ranks = 1,
                HostTime host = {})
      : RooflineModel(model, device, dtypes, Sharding{ranks}, host) {}

  // Equal to cost_by_operator() to the nanosecond; remembers what depends on tokens and on sampled rows alone.
  StepCost cost(const StepShape& shape) override;
  // The plain sum over the operator list.
  [[nodiscard]] StepCost cost_by_operator(const StepShape& shape) const;
  // One operator with all its launches.
  [[nodiscard]] double seconds(const Operator& op) const;
  // Peaks only, no efficiency: no cost is below it.
  [[nodiscard]] RooflineBound bound(const StepShape& shape) const;
  [[nodiscard]] const StepWork& work() const { return work_; }
  // The type that products with weights of type `operands` are computed in: 8-bit types where the device has such
  // a rate, else the activations'.
  [[nodiscard]] DType compute_type(DType operands) const;

 private:
  [[nodiscard]] double link_seconds(const Operator& op) const;
  [[nodiscard]] double compute_token_seconds(std::int64_t tokens);
  [[nodiscard]] double compute_sampled_seconds(std::int64_t rows);
  [[nodiscard]] double attention_seconds(const StepShape& shape) const;
  [[nodiscard]] double sum_of_scratch() const;
  [[nodiscard]] StepCost finish(const StepShape& shape, double device_s) const;

  StepWork work_;
  DeviceSheet device_;
  Dtypes dtypes_;
  HostTime host_;
  KernelTime prefill_;
  KernelTime decode_;
  KernelTime elementwise_;
  Interconnect links_;
  KernelTime tensor_link_;  // where links_ has no group
  KernelTime experts_link_;
  std::array<KernelTime, 8> gemm_;  // by DType of the operands
  std::array<KernelTime, 8> experts_;
  std::vector<double> token_memo_;  // negative: not computed yet
  std::vector<double> sampled_memo_;
  std::vector<Operator> scratch_;
};

}  // namespace servecast
