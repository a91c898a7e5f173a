#include "costmodel/device.hpp"

#include <cmath>

#include "costmodel/sheet.hpp"
#include "sim/error.hpp"

namespace servecast {
namespace {

std::optional<double> optional_quantity(const SheetNode& section, const std::string& key, const std::string& unit) {
  if (!section.has(key)) return std::nullopt;
  return section.quantity(key, unit);
}

PeakRates read_peak(const SheetNode& sheet) {
  const SheetNode peak = sheet.open("peak", {"fp32", "tf32", "fp16", "bf16", "fp8", "int8", "fp4"});
  const auto rate = [&](const char* key, const char* unit) { return optional_quantity(peak, key, unit); };
  PeakRates rates{rate("fp32", "FLOP/s"), rate("tf32", "FLOP/s"), rate("fp16", "FLOP/s"), rate("bf16", "FLOP/s"),
                  rate("fp8", "FLOP/s"),  rate("int8", "OP/s"),   rate("fp4", "FLOP/s")};
  if (!rates.fp16 && !rates.bf16 && !rates.fp32) peak.fail("needs one of fp32, fp16, bf16");
  return rates;
}

LinkKind read_kind(const SheetNode& link) {
  const std::string kind = link.choice("kind", {"nvlink", "pcie", "xgmi"}, "link");
  if (kind == "nvlink") return LinkKind::kNvlink;
  return kind == "pcie" ? LinkKind::kPcie : LinkKind::kXgmi;
}

DeviceLink read_link(const SheetNode& sheet) {
  const SheetNode link = sheet.open("link", {"kind", "bandwidth", "latency", "devices_per_host"});
  DeviceLink read;
  read.kind = read_kind(link);
  read.bytes_per_second = link.quantity("bandwidth", "B/s");
  read.latency_s = link.quantity("latency", "s", 1);
  read.devices_per_host = link.whole("devices_per_host", 4096);
  return read;
}

// {launch_s, compute, memory, row_s}; the last three may be left out.
void read_curve(const SheetNode& section, const std::string& key, Curve& curve) {
  if (!section.has(key)) return;
  const SheetNode entry = section.open(key, {"launch_s", "compute", "memory", "row_s"});
  curve = Curve{};
  curve.launch_s = entry.positive("launch_s", 1);
  if (entry.has("compute")) curve.compute = entry.positive("compute", 1);
  if (entry.has("memory")) curve.memory = entry.positive("memory", 1);
  if (entry.has("row_s")) curve.row_s = entry.positive("row_s", 1);
}

void read_efficiency(const SheetNode& sheet, Efficiency& efficiency) {
  if (!sheet.has("efficiency")) return;
  const SheetNode section = sheet.open(
      "efficiency", {"source", "gemm", "experts", "prefill_attention", "decode_attention", "elementwise", "link"});
  (void)section.text("source");
  read_curve(section, "gemm", efficiency.gemm);
  read_curve(section, "experts", efficiency.experts);
  read_curve(section, "prefill_attention", efficiency.prefill_attention);
  read_curve(section, "decode_attention", efficiency.decode_attention);
  read_curve(section, "elementwise", efficiency.elementwise);
  if (section.has("link")) efficiency.link = section.positive("link", 1);
}

Bytes whole_bytes(double value) { return Bytes{static_cast<std::int64_t>(std::llround(value))}; }

DeviceSheet read_sheet(const SheetNode& sheet) {
  sheet.check_keys({"device", "name", "architecture", "compute_capability", "memory_capacity", "memory_reported",
                    "memory_bandwidth", "peak", "link", "power", "efficiency"});
  DeviceSheet device;
  device.name = sheet.text("device");
  device.title = sheet.text("name");
  device.architecture = sheet.text("architecture");
  if (sheet.has("compute_capability")) device.compute_capability = sheet.text("compute_capability");
  device.memory = whole_bytes(sheet.quantity("memory_capacity", "B"));
  if (const auto reported = optional_quantity(sheet, "memory_reported", "B")) {
    device.memory_reported = whole_bytes(*reported);
  }
  device.bytes_per_second = sheet.quantity("memory_bandwidth", "B/s");
  device.peak = read_peak(sheet);
  device.link = read_link(sheet);
  device.watts = sheet.quantity("power", "W");
  device.efficiency = default_efficiency(device.name, device.architecture);
  read_efficiency(sheet, device.efficiency);
  return device;
}

std::optional<double> rate_of(const PeakRates& peak, DType operands) {
  switch (operands) {
    case DType::kFp32:
      return peak.fp32;
    case DType::kBf16:
      return peak.bf16;
    case DType::kFp16:
      return peak.fp16;
    case DType::kFp8:
      return peak.fp8;
    case DType::kInt8:
      return peak.int8;
    case DType::kInt4:
    case DType::kMxfp4:
    case DType::kKivi2:
      return std::nullopt;  // stored so, computed in another type
  }
  return std::nullopt;
}

}  // namespace

bool DeviceSheet::computes(DType operands) const { return rate_of(peak, operands).has_value(); }

double DeviceSheet::peak_of(DType operands) const {
  if (const auto rate = rate_of(peak, operands)) return *rate;
  std::string known;
  for (const DType type : {DType::kFp32, DType::kFp16, DType::kBf16, DType::kFp8, DType::kInt8}) {
    if (computes(type)) known.append(known.empty() ? "" : ", ").append(dtype_name(type));
  }
  throw InputError({{}, 0, "dtype"}, name + " does not compute in " + std::string(dtype_name(operands)),
                   "it has " + known);
}

DeviceSheet load_device(const std::string& path) {
  DeviceSheet device = parse_device(read_sheet_file(path), path);
  check_sheet_name(device.name, path, "device");
  return device;
}

DeviceSheet parse_device(const std::string& yaml, const std::string& file) {
  return read_sheet(SheetNode::parse(yaml, file));
}

}  // namespace servecast
