#include "costmodel/roofline.hpp"

#include <bit>
#include <string>

#include "sim/error.hpp"

namespace servecast {
namespace {

constexpr double kUnknown = -1;
constexpr std::size_t kMemoLimit = std::size_t{1} << 17;  // 1 MB a table; larger steps are computed each time

// Share and latency of an all-reduce over PCIe by ranks, relative to two: without switches the traffic of four and
// eight crosses the CPUs. L40S in NVIDIA AIConfigurator's tables: 0.60, 0.12 and 0.065 of the link, 5.3, 13 and
// 23 us (tools/efficiency_from_tables.py).
struct PcieShare {
  double bandwidth;
  double latency;
};

PcieShare pcie_share(std::int64_t ranks) {
  if (ranks <= 2) return {1, 1};
  if (ranks <= 4) return {0.12 / 0.60, 13 / 5.3};
  return {0.065 / 0.60, 23 / 5.3};
}

template <class Compute>
double remembered(std::vector<double>& memo, std::int64_t count, const Compute& compute) {
  const auto index = static_cast<std::size_t>(count);
  if (index < memo.size()) {
    double& value = memo[index];
    if (value < 0) value = compute();
    return value;
  }
  if (index >= kMemoLimit) return compute();
  memo.resize(std::bit_ceil(index + 1), kUnknown);
  return memo[index] = compute();
}

}  // namespace

RooflineModel::RooflineModel(const ModelShape& model, const DeviceSheet& device, const Dtypes& dtypes,
                             std::int64_t ranks, HostTime host)
    : work_(model, dtypes, ranks),
      device_(device),
      dtypes_(dtypes),
      host_(host),
      seconds_per_byte_(1 / device.bytes_per_second) {
  if (ranks > device.link.devices_per_host) {
    throw InputError({{}, 0, "tensor_parallel"}, std::to_string(ranks) + " ranks exceed the " +
                                                     std::to_string(device.link.devices_per_host) + " devices of a " +
                                                     device.name + " host");
  }
  const PcieShare share = device.link.kind == LinkKind::kPcie ? pcie_share(ranks) : PcieShare{1, 1};
  seconds_per_link_byte_ = 1 / (device.link.bytes_per_second * device.efficiency.link * share.bandwidth);
  link_latency_s_ = device.link.latency_s * share.latency;
  for (std::size_t type = 0; type < seconds_per_flop_.size(); ++type) {
    seconds_per_flop_[type] = 1 / device.peak_of(compute_type(static_cast<DType>(type)));
  }
}

DType RooflineModel::compute_type(DType operands) const {
  const bool eight_bits = operands == DType::kFp8 || operands == DType::kInt8;
  return eight_bits && device_.computes(operands) ? operands : dtypes_.activations;
}

double RooflineModel::seconds(const Operator& op) const {
  const double compute = op.work.flops * seconds_per_flop_[static_cast<std::size_t>(op.operands)];
  const double memory = op.work.memory_bytes() * seconds_per_byte_;
  const Efficiency& efficiency = device_.efficiency;
  switch (op.family) {
    case OperatorFamily::kGemm:
      return op.times * overlapped(efficiency.gemm, compute, memory);
    case OperatorFamily::kExperts:
      return op.times * overlapped(efficiency.experts, compute, memory);
    case OperatorFamily::kPrefillAttention:
      return op.times * summed(efficiency.prefill_attention, compute, memory);
    case OperatorFamily::kDecodeAttention:
      return op.times * overlapped(efficiency.decode_attention, compute, memory, op.rows);
    case OperatorFamily::kElementwise:
      return op.times * summed(efficiency.elementwise, compute, memory);
    case OperatorFamily::kLink:
      return op.times * (link_latency_s_ + op.work.link_bytes * seconds_per_link_byte_);
  }
  return 0;
}

double RooflineModel::sum_of_scratch() const {
  double sum = 0;
  for (const Operator& op : scratch_) sum += seconds(op);
  return sum;
}

double RooflineModel::token_seconds(std::int64_t tokens) {
  return remembered(token_memo_, tokens, [&] {
    scratch_.clear();
    work_.append_token_operators(tokens, scratch_);
    return sum_of_scratch();
  });
}

double RooflineModel::sampled_seconds(std::int64_t rows) {
  return remembered(sampled_memo_, rows, [&] {
    scratch_.clear();
    work_.append_sampled_operators(rows, scratch_);
    return sum_of_scratch();
  });
}

StepCost RooflineModel::finish(const StepShape& shape, double device_s) const {
  const auto sequences = shape.decode_sequences + static_cast<std::int64_t>(shape.prefills.size());
  return {std::max(Duration{1}, from_seconds(device_s)), host_.per_step + sequences * host_.per_sequence};
}

StepCost RooflineModel::cost(const StepShape& shape) {
  double total = token_seconds(tokens_of(shape)) + sampled_seconds(shape.sampled_rows);
  if (!shape.prefills.empty()) {
    double prefill = 0;
    for (std::size_t kind = 0; kind < work_.attention_kinds(); ++kind) {
      prefill += seconds(work_.prefill_attention(kind, shape.prefills));
    }
    total += prefill;
  }
  if (shape.decode_sequences > 0) {
    double decode = 0;
    for (std::size_t kind = 0; kind < work_.attention_kinds(); ++kind) {
      decode += seconds(work_.decode_attention(kind, shape));
    }
    total += decode;
  }
  return finish(shape, total);
}

StepCost RooflineModel::cost_by_operator(const StepShape& shape) const {
  std::array<double, 4> parts{};
  for (const Operator& op : work_.operators(shape)) parts[static_cast<std::size_t>(op.part)] += seconds(op);
  return finish(shape, parts[0] + parts[1] + parts[2] + parts[3]);
}

RooflineBound RooflineModel::bound(const StepShape& shape) const {
  RooflineBound bound;
  for (const Operator& op : work_.operators(shape)) {
    const Work work = op.total();
    bound.compute_s += work.flops * seconds_per_flop_[static_cast<std::size_t>(op.operands)];
    bound.memory_s += (work.weight_bytes + work.kv_bytes) * seconds_per_byte_;
  }
  return bound;
}

}  // namespace servecast
