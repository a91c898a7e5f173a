#include "kernels/gpu_check/nvml.hpp"

#include <array>
#include <dlfcn.h>

namespace servecast::kernels::gpu_check {
namespace {

// Constants of nvml.h.
constexpr unsigned kClockSm = 1;
constexpr unsigned kClockMemory = 2;
constexpr unsigned kTemperatureGpu = 0;

template <class Function>
bool resolve(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

}  // namespace

// The part of nvml.h that is used; every function gives 0 where it succeeds.
struct Nvml::Functions {
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*device_by_address)(const char*, void**) = nullptr;
  int (*clock)(void*, unsigned, unsigned*) = nullptr;
  int (*temperature)(void*, unsigned, unsigned*) = nullptr;
  int (*power)(void*, unsigned*) = nullptr;  // milliwatts
  int (*driver_version)(char*, unsigned) = nullptr;

  [[nodiscard]] bool load() {
    void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    return library != nullptr && resolve(library, "nvmlInit_v2", init) && resolve(library, "nvmlShutdown", shutdown) &&
           resolve(library, "nvmlDeviceGetHandleByPciBusId_v2", device_by_address) &&
           resolve(library, "nvmlDeviceGetClockInfo", clock) &&
           resolve(library, "nvmlDeviceGetTemperature", temperature) &&
           resolve(library, "nvmlDeviceGetPowerUsage", power) &&
           resolve(library, "nvmlSystemGetDriverVersion", driver_version) && init() == 0;
  }
};

Nvml::Nvml(const std::string& address) : functions_(std::make_unique<Functions>()) {
  if (address.empty() || !functions_->load()) {
    functions_.reset();
  } else if (functions_->device_by_address(address.c_str(), &device_) != 0) {
    device_ = nullptr;
  }
}

Nvml::~Nvml() {
  if (functions_) functions_->shutdown();
}

DeviceState Nvml::state() const {
  DeviceState state;
  if (device_ == nullptr) return state;
  unsigned milliwatts = 0;
  functions_->clock(device_, kClockSm, &state.sm_mhz);
  functions_->clock(device_, kClockMemory, &state.memory_mhz);
  functions_->temperature(device_, kTemperatureGpu, &state.temperature_c);
  functions_->power(device_, &milliwatts);
  state.power_w = milliwatts / 1e3;
  return state;
}

std::string Nvml::driver_version() const {
  std::array<char, 96> text{};
  if (functions_) functions_->driver_version(text.data(), text.size());
  return text.data();
}

}  // namespace servecast::kernels::gpu_check
