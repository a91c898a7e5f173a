#include "costmodel/device.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <vector>
#include <yaml-cpp/yaml.h>

#include "sim/error.hpp"

namespace servecast {
namespace {

using Names = std::vector<std::string>;

// A mapping of the sheet, with where it stands.
struct Section {
  YAML::Node node;
  std::string file;
  std::string field;  // "" at the top

  [[nodiscard]] std::string path(const std::string& key) const { return field.empty() ? key : field + "." + key; }
};

[[noreturn]] void fail(const Section& section, const YAML::Node& at, const std::string& field,
                       const std::string& problem, const std::string& hint = {}) {
  const YAML::Mark mark = at.IsDefined() ? at.Mark() : section.node.Mark();
  throw InputError({section.file, mark.line + 1, field}, problem, hint);
}

void check_keys(const Section& section, const Names& known) {
  if (!section.node.IsMap()) fail(section, section.node, section.field, "must be a mapping");
  Names seen;
  for (const auto& entry : section.node) {
    const std::string key = entry.first.as<std::string>("");
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      fail(section, entry.first, section.path(key), "unknown key", suggest(key, known));
    }
    if (std::find(seen.begin(), seen.end(), key) != seen.end()) {
      fail(section, entry.first, section.path(key), "is given twice");
    }
    seen.push_back(key);
  }
}

YAML::Node require(const Section& section, const std::string& key) {
  const YAML::Node value = section.node[key];
  if (!value.IsDefined() || value.IsNull()) fail(section, section.node, section.path(key), "is missing");
  return value;
}

Section open(const Section& section, const std::string& key, const Names& known) {
  Section inner{require(section, key), section.file, section.path(key)};
  check_keys(inner, known);
  return inner;
}

std::string text(const Section& section, const std::string& key) {
  const YAML::Node value = require(section, key);
  if (!value.IsScalar() || value.Scalar().empty()) fail(section, value, section.path(key), "must be a text");
  return value.Scalar();
}

double positive(const Section& section, const std::string& key, double limit) {
  const YAML::Node value = require(section, key);
  double number = 0;
  if (!value.IsScalar() || !YAML::convert<double>::decode(value, number) || !std::isfinite(number)) {
    fail(section, value, section.path(key), "must be a number");
  }
  if (!(number > 0 && number <= limit)) {
    fail(section, value, section.path(key), "is " + value.Scalar() + ", must be positive and in range");
  }
  return number;
}

constexpr double kLargest = 1e18;

// {value: 3.35e12, unit: B/s, source: "..."}
double quantity(const Section& section, const std::string& key, const std::string& unit, double limit = kLargest) {
  const Section entry = open(section, key, {"value", "unit", "source"});
  if (text(entry, "unit") != unit) fail(entry, entry.node["unit"], entry.path("unit"), "must be " + unit);
  (void)text(entry, "source");  // a number without a source is not accepted
  return positive(entry, "value", limit);
}

std::optional<double> optional_quantity(const Section& section, const std::string& key, const std::string& unit) {
  if (!section.node[key].IsDefined()) return std::nullopt;
  return quantity(section, key, unit);
}

PeakRates read_peak(const Section& sheet) {
  const Section peak = open(sheet, "peak", {"fp32", "tf32", "fp16", "bf16", "fp8", "int8", "fp4"});
  const auto rate = [&](const char* key, const char* unit) { return optional_quantity(peak, key, unit); };
  PeakRates rates{rate("fp32", "FLOP/s"), rate("tf32", "FLOP/s"), rate("fp16", "FLOP/s"), rate("bf16", "FLOP/s"),
                  rate("fp8", "FLOP/s"),  rate("int8", "OP/s"),   rate("fp4", "FLOP/s")};
  if (!rates.fp16 && !rates.bf16 && !rates.fp32) fail(peak, peak.node, "peak", "needs one of fp32, fp16, bf16");
  return rates;
}

LinkKind read_kind(const Section& link) {
  const std::string kind = text(link, "kind");
  if (kind == "nvlink") return LinkKind::kNvlink;
  if (kind == "pcie") return LinkKind::kPcie;
  if (kind == "xgmi") return LinkKind::kXgmi;
  fail(link, link.node["kind"], link.path("kind"), "unknown link '" + kind + "'",
       suggest(kind, {"nvlink", "pcie", "xgmi"}));
}

DeviceLink read_link(const Section& sheet) {
  const Section link = open(sheet, "link", {"kind", "bandwidth", "latency", "devices_per_host"});
  DeviceLink read;
  read.kind = read_kind(link);
  read.bytes_per_second = quantity(link, "bandwidth", "B/s");
  read.latency_s = quantity(link, "latency", "s", 1);
  const double devices = positive(link, "devices_per_host", 4096);
  if (devices != std::floor(devices)) {
    fail(link, link.node["devices_per_host"], "link.devices_per_host", "must be a whole number");
  }
  read.devices_per_host = static_cast<std::int64_t>(devices);
  return read;
}

// {launch_s, compute, memory, row_s}; the last three may be left out.
void read_curve(const Section& section, const std::string& key, Curve& curve) {
  if (!section.node[key].IsDefined()) return;
  const Section entry = open(section, key, {"launch_s", "compute", "memory", "row_s"});
  const auto given = [&](const char* name) { return entry.node[name].IsDefined(); };
  curve = Curve{};
  curve.launch_s = positive(entry, "launch_s", 1);
  if (given("compute")) curve.compute = positive(entry, "compute", 1);
  if (given("memory")) curve.memory = positive(entry, "memory", 1);
  if (given("row_s")) curve.row_s = positive(entry, "row_s", 1);
}

void read_efficiency(const Section& sheet, Efficiency& efficiency) {
  if (!sheet.node["efficiency"].IsDefined()) return;
  const Section section =
      open(sheet, "efficiency",
           {"source", "gemm", "experts", "prefill_attention", "decode_attention", "elementwise", "link"});
  (void)text(section, "source");
  read_curve(section, "gemm", efficiency.gemm);
  read_curve(section, "experts", efficiency.experts);
  read_curve(section, "prefill_attention", efficiency.prefill_attention);
  read_curve(section, "decode_attention", efficiency.decode_attention);
  read_curve(section, "elementwise", efficiency.elementwise);
  if (section.node["link"].IsDefined()) efficiency.link = positive(section, "link", 1);
}

Bytes whole_bytes(double value) { return Bytes{static_cast<std::int64_t>(std::llround(value))}; }

DeviceSheet read_sheet(const Section& sheet) {
  check_keys(sheet, {"device", "name", "architecture", "compute_capability", "memory_capacity", "memory_reported",
                     "memory_bandwidth", "peak", "link", "power", "efficiency"});
  DeviceSheet device;
  device.name = text(sheet, "device");
  device.title = text(sheet, "name");
  device.architecture = text(sheet, "architecture");
  if (sheet.node["compute_capability"].IsDefined()) device.compute_capability = text(sheet, "compute_capability");
  device.memory = whole_bytes(quantity(sheet, "memory_capacity", "B"));
  if (const auto reported = optional_quantity(sheet, "memory_reported", "B")) {
    device.memory_reported = whole_bytes(*reported);
  }
  device.bytes_per_second = quantity(sheet, "memory_bandwidth", "B/s");
  device.peak = read_peak(sheet);
  device.link = read_link(sheet);
  device.watts = quantity(sheet, "power", "W");
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
  std::ifstream in(path, std::ios::binary);
  if (!in || std::filesystem::is_directory(path)) throw InputError({path, 0, {}}, "cannot be opened");
  const std::string content{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  DeviceSheet device = parse_device(content, path);
  const std::string stem = std::filesystem::path(path).stem().string();
  if (device.name != stem) throw InputError({path, 0, "device"}, "must repeat the file's name, '" + stem + "'");
  return device;
}

DeviceSheet parse_device(const std::string& yaml, const std::string& file) {
  try {
    return read_sheet({YAML::Load(yaml), file, {}});
  } catch (const YAML::Exception& error) {
    throw InputError({file, error.mark.line + 1, {}}, "is not valid YAML: " + error.msg);
  }
}

}  // namespace servecast
