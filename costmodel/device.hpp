// A device sheet, devices/NAME.yaml: what one accelerator can do at best. docs/files-devices.md describes the file.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "costmodel/dtype.hpp"
#include "costmodel/efficiency.hpp"
#include "sim/units.hpp"

namespace servecast {

enum class LinkKind : std::uint8_t { kNvlink, kPcie, kXgmi };

// Between the devices of one host.
struct DeviceLink {
  LinkKind kind = LinkKind::kPcie;
  double bytes_per_second = 0;  // one direction of one device
  double latency_s = 0;         // of the smallest all-reduce between two devices
  std::int64_t devices_per_host = 1;
};

// Operations per second, dense, summed in fp32 (int32 for int8). Absent where the device has no such rate.
struct PeakRates {
  std::optional<double> fp32, tf32, fp16, bf16, fp8, int8, fp4;
};

struct DeviceSheet {
  std::string name;   // the file's: "h100-sxm"
  std::string title;  // "NVIDIA H100 SXM5 80 GB"
  std::string architecture;
  std::string compute_capability;  // empty outside CUDA
  Bytes memory;
  std::optional<Bytes> memory_reported;  // what PyTorch sees of it, where a record says so
  double bytes_per_second = 0;
  PeakRates peak;
  DeviceLink link;
  double watts = 0;
  Efficiency efficiency;

  // Rate of products whose operands have this type. Throws InputError that names the types the device has.
  [[nodiscard]] double peak_of(DType operands) const;
  [[nodiscard]] bool computes(DType operands) const;
  // FLOPs per byte where compute and memory take equally long.
  [[nodiscard]] double ridge(DType operands) const { return peak_of(operands) / bytes_per_second; }
};

// Throws InputError with file, line and field.
[[nodiscard]] DeviceSheet load_device(const std::string& path);
[[nodiscard]] DeviceSheet parse_device(const std::string& yaml, const std::string& file);

}  // namespace servecast
