// What runs operators: a GPU, its emulation on the CPU, or the CPU set. All three behind one face, so that one case
// tests, times and calibrates each of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/operation.hpp"
#include "kernels/status.hpp"

namespace servecast::kernels {

// A queue of launches; null is the back end's default one. Owned by the back end.
using Stream = void*;

struct BackendInfo {
  std::string name;               // "cuda", "emulation", "cpu"
  std::string device;             // what it runs on, in the device's own words
  std::int32_t architecture = 0;  // compute capability times ten (90: sm_90); 0 on the CPU
  std::int32_t processors = 1;    // SMs, or compute threads
  std::int64_t memory_bytes = 0;
  std::int64_t shared_memory_per_block = 0;  // with the opt-in
  std::int64_t l2_bytes = 0;
  std::string address = {};   // on the PCI bus, as NVML knows the device; empty where there is none
  std::string versions = {};  // of driver and libraries
};

enum class Copy : std::uint8_t { kToDevice, kToHost };

class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  // Aligned to 256 bytes; null where there is not that much.
  [[nodiscard]] virtual void* allocate(std::int64_t bytes) = 0;
  virtual void release(void* pointer) = 0;
  // Waits for the copy and for all that was launched before it.
  virtual Status copy(void* to, const void* from, std::int64_t bytes, Copy direction) = 0;
};

// What times a call: `calls` in a row, repeated `replays` times.
struct TimingPlan {
  std::int32_t warmups = 2;
  std::int32_t calls = 1;
  std::int32_t replays = 7;
};

class Backend {
 public:
  virtual ~Backend() = default;
  [[nodiscard]] virtual const BackendInfo& info() const = 0;
  [[nodiscard]] virtual DeviceMemory& memory() = 0;
  // Validates, launches on the stream, and returns; never waits for the device, never allocates. Errors of the device
  // itself may show only at the next copy or synchronize.
  virtual Status launch(const Operation& operation, Stream stream) = 0;
  // Waits until everything launched is done, and tells how that went.
  virtual Status synchronize() = 0;
  // Seconds per call, one entry a replay: on a GPU of a captured graph of `calls` between two events, on the CPU by
  // the process's CPU time. `call` is given the number of the call, so that it can rotate through cold buffers.
  virtual Status time(const TimingPlan& plan, const std::function<Status(std::int32_t call, Stream stream)>& call,
                      std::vector<double>& seconds) = 0;
};

}  // namespace servecast::kernels
