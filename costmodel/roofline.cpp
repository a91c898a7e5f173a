#include "costmodel/roofline.hpp"

#include <bit>
#include <string>
#include <utility>

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

void check_fits_host(std::int64_t ranks, const char* field, const DeviceSheet& device) {
  if (ranks <= device.link.devices_per_host) return;
  throw InputError({{}, 0, field}, std::to_string(ranks) + " ranks exceed the " +
                                       std::to_string(device.link.devices_per_host) + " devices of a " + device.name +
                                       " host");
}

// Where the value for `count` is kept, or null beyond the limit; what it was not asked for before is kUnknown.
double* memo_slot(std::vector<double>& memo, std::int64_t count) {
  const auto index = static_cast<std::size_t>(count);
  if (index >= kMemoLimit) return nullptr;
  if (index >= memo.size()) memo.resize(std::bit_ceil(index + 1), kUnknown);
  return &memo[index];
}

// The fast path of both memos: a bound check and a load. Negative when it is not known.
double known(const std::vector<double>& memo, std::int64_t count) {
  const auto index = static_cast<std::size_t>(count);
  return index < memo.size() ? memo[index] : kUnknown;
}

}  // namespace

KernelTime link_time(const DeviceSheet& device, std::int64_t ranks) {
  const PcieShare share = device.link.kind == LinkKind::kPcie ? pcie_share(ranks) : PcieShare{1, 1};
  KernelTime time;
  time.launch_s = device.link.latency_s * share.latency;
  time.per_byte_s = 1 / (device.link.bytes_per_second * device.efficiency.link * share.bandwidth);
  return time;
}

Dtypes runnable_dtypes(const ModelShape& model, const DeviceSheet& device) {
  Dtypes dtypes = published_dtypes(model);
  if (device.computes(DType::kBf16)) return dtypes;
  for (DType* type : {&dtypes.weights, &dtypes.experts, &dtypes.kv, &dtypes.activations}) {
    if (*type == DType::kBf16) *type = DType::kFp16;
  }
  return dtypes;
}

RooflineModel::RooflineModel(const ModelShape& model, const DeviceSheet& device, const Dtypes& dtypes,
                             const Sharding& sharding, HostTime host, Interconnect links)
    : work_(model, dtypes, sharding), device_(device), dtypes_(dtypes), host_(host), links_(std::move(links)) {
  if (!links_.tensor) check_fits_host(sharding.tensor, "tensor_parallel", device);
  if (!links_.experts && sharding.data > 1) check_fits_host(sharding.ranks(), "data_parallel", device);
  const Efficiency& curves = device.efficiency;
  const double peak = device.peak_of(dtypes.activations);
  const double bandwidth = device.bytes_per_second;
  prefill_ = {curves.prefill_attention, peak, bandwidth};
  decode_ = {curves.decode_attention, peak, bandwidth};
  elementwise_ = {curves.elementwise, peak, bandwidth};
  tensor_link_ = link_time(device, sharding.tensor);
  experts_link_ = link_time(device, sharding.ranks());
  for (std::size_t type = 0; type < gemm_.size(); ++type) {
    const double rate = device.peak_of(compute_type(static_cast<DType>(type)));
    gemm_[type] = {curves.gemm, rate, bandwidth};
    experts_[type] = {curves.experts, rate, bandwidth};
  }
}

DType RooflineModel::compute_type(DType operands) const {
  const bool eight_bits = operands == DType::kFp8 || operands == DType::kInt8;
  return eight_bits && device_.computes(operands) ? operands : dtypes_.activations;
}

double RooflineModel::seconds(const Operator& op) const {
  const double flops = op.work.flops;
  const double bytes = op.work.memory_bytes();
  const auto operands = static_cast<std::size_t>(op.operands);
  switch (op.family) {
    case OperatorFamily::kGemm:
      return op.times * gemm_[operands].overlapped(flops, bytes);
    case OperatorFamily::kExperts:
      return op.times * experts_[operands].overlapped(flops, bytes);
    case OperatorFamily::kPrefillAttention:
      return op.times * prefill_.summed(flops, bytes);
    case OperatorFamily::kDecodeAttention:
      return op.times * decode_.overlapped(flops, bytes, op.rows);
    case OperatorFamily::kElementwise:
      return op.times * elementwise_.summed(flops, bytes);
    case OperatorFamily::kLink:
      return op.times * link_seconds(op);
  }
  return 0;
}

double RooflineModel::link_seconds(const Operator& op) const {
  const bool of_experts = op.collective == Collective::kAllToAll;
  const std::shared_ptr<const Collectives>& group = of_experts ? links_.experts : links_.tensor;
  if (group) return group->cost(op.collective, op.message_bytes).seconds;
  return (of_experts ? experts_link_ : tensor_link_).summed(0, op.work.link_bytes);
}

double RooflineModel::attention_seconds(const StepShape& shape) const {
  double prefill = 0;
  double decode = 0;
  for (const StepWork::AttentionKind& kind : work_.attention_kinds()) {
    if (!shape.prefills.empty()) {
      const AttentionWork work = prefill_work(kind, shape.prefills);
      prefill += kind.layers * prefill_.summed(work.flops, work.kv_bytes + work.activation_bytes);
    }
    if (shape.decode_sequences > 0) {
      const AttentionWork work = decode_work(kind, shape);
      decode += kind.layers * decode_.overlapped(work.flops, work.kv_bytes + work.activation_bytes, work.rows);
    }
  }
  return prefill + decode;
}

double RooflineModel::sum_of_scratch() const {
  double sum = 0;
  for (const Operator& op : scratch_) sum += seconds(op);
  return sum;
}

double RooflineModel::compute_token_seconds(std::int64_t tokens) {
  scratch_.clear();
  work_.append_token_operators(tokens, scratch_);
  const double value = sum_of_scratch();
  if (double* slot = memo_slot(token_memo_, tokens)) *slot = value;
  return value;
}

double RooflineModel::compute_sampled_seconds(std::int64_t rows) {
  scratch_.clear();
  work_.append_sampled_operators(rows, scratch_);
  const double value = sum_of_scratch();
  if (double* slot = memo_slot(sampled_memo_, rows)) *slot = value;
  return value;
}

StepCost RooflineModel::finish(const StepShape& shape, double device_s) const {
  // Rounded to the nearest nanosecond, at least 1; the cap (292 years) keeps the conversion defined.
  const double nanoseconds = std::min(std::max(device_s * 1e9 + 0.5, 1.0), 9e18);
  return {Duration{static_cast<std::int64_t>(nanoseconds)}, host_.of(shape)};
}

StepCost RooflineModel::cost(const StepShape& shape) {
  const std::int64_t tokens = tokens_of(shape);
  double token_s = known(token_memo_, tokens);
  if (token_s < 0) token_s = compute_token_seconds(tokens);
  double sampled_s = known(sampled_memo_, shape.sampled_rows);
  if (sampled_s < 0) sampled_s = compute_sampled_seconds(shape.sampled_rows);
  return finish(shape, (token_s + sampled_s) + attention_seconds(shape));
}

StepCost RooflineModel::cost_by_operator(const StepShape& shape) const {
  std::array<double, 4> parts{};
  for (const Operator& op : work_.operators(shape)) parts[static_cast<std::size_t>(op.part)] += seconds(op);
  return finish(shape, (parts[0] + parts[1]) + (parts[2] + parts[3]));
}

RooflineBound RooflineModel::bound(const StepShape& shape) const {
  RooflineBound bound;
  for (const Operator& op : work_.operators(shape)) {
    const Work work = op.total();
    bound.compute_s += work.flops / device_.peak_of(compute_type(op.operands));
    bound.memory_s += (work.weight_bytes + work.kv_bytes) / device_.bytes_per_second;
  }
  return bound;
}

}  // namespace servecast
