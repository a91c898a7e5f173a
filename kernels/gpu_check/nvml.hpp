// Clocks and temperature of a device, where NVIDIA's management library is at hand. Nothing is ever set.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace servecast::kernels::gpu_check {

// Zero where the library does not say.
struct DeviceState {
  std::uint32_t sm_mhz = 0;
  std::uint32_t memory_mhz = 0;
  std::uint32_t temperature_c = 0;
  double power_w = 0;
};

class Nvml {
 public:
  // Of the device at a PCI address; without the library or the address, state() is all zeros.
  explicit Nvml(const std::string& address);
  Nvml(const Nvml&) = delete;  // it initialises and shuts down a library
  Nvml& operator=(const Nvml&) = delete;
  ~Nvml();

  [[nodiscard]] bool available() const { return device_ != nullptr; }
  [[nodiscard]] DeviceState state() const;
  [[nodiscard]] std::string driver_version() const;  // empty where unknown

 private:
  struct Functions;
  std::unique_ptr<Functions> functions_;
  void* device_ = nullptr;
};

}  // namespace servecast::kernels::gpu_check
