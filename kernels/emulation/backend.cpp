#include "kernels/emulation/backend.hpp"

#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <unordered_map>

#include "kernels/cuda/launchers.hpp"
#include "kernels/emulation/limits.hpp"

namespace servecast::kernels {
namespace {

constexpr std::size_t kAlignment = 256;
constexpr int kPoison = 0xff;  // NaN in every floating-point format, -1 in the others

// The CPU's heap. New memory is poisoned, as nothing promises zeros; a sanitizer's heap guards its ends.
class HostMemory : public DeviceMemory {
 public:
  explicit HostMemory(std::int64_t bytes) : free_(bytes) {}
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;
  ~HostMemory() override {
    for (const auto& [pointer, bytes] : sizes_) std::free(pointer);
  }

  void* allocate(std::int64_t bytes) override {
    if (bytes < 0 || bytes > free_) return nullptr;
    void* pointer = nullptr;
    const auto size = static_cast<std::size_t>(bytes);
    if (posix_memalign(&pointer, kAlignment, size) != 0) return nullptr;
    std::memset(pointer, kPoison, size);
    sizes_[pointer] = bytes;
    free_ -= bytes;
    return pointer;
  }

  void release(void* pointer) override {
    const auto entry = sizes_.find(pointer);
    if (entry == sizes_.end()) return;
    free_ += entry->second;
    sizes_.erase(entry);
    std::free(pointer);
  }

  Status copy(void* to, const void* from, std::int64_t bytes, Copy /*direction*/) override {
    if (bytes < 0) return Status::invalid("a copy of a negative number of bytes");
    if (bytes != 0) std::memcpy(to, from, static_cast<std::size_t>(bytes));
    return {};
  }

 private:
  std::unordered_map<void*, std::int64_t> sizes_;
  std::int64_t free_;
};

double cpu_seconds() { return static_cast<double>(std::clock()) / static_cast<double>(CLOCKS_PER_SEC); }

class EmulatedBackend : public Backend {
 public:
  EmulatedBackend(const EmulationOptions& options, const emulation::Limits& limits)
      : options_(options.emulator), memory_(options.memory_bytes) {
    target_ = {limits.architecture, options.processors, limits.shared_memory_per_block};
    info_.name = "emulation";
    info_.device = "CUDA emulated on the CPU, sm_";
    info_.device += std::to_string(limits.architecture);
    info_.architecture = limits.architecture;
    info_.processors = options.processors;
    info_.memory_bytes = options.memory_bytes;
    info_.shared_memory_per_block = limits.shared_memory_per_block;
  }

  [[nodiscard]] const BackendInfo& info() const override { return info_; }
  [[nodiscard]] DeviceMemory& memory() override { return memory_; }
  Status launch(const Operation& operation, Stream /*stream*/) override {
    return emulated::launch(operation, target_, &options_);
  }
  Status synchronize() override { return {}; }

  Status time(const TimingPlan& plan, const std::function<Status(std::int32_t call, Stream stream)>& call,
              std::vector<double>& seconds) override {
    std::int32_t number = 0;
    const auto run = [&](std::int32_t calls) {
      for (std::int32_t i = 0; i < calls; ++i) {
        Status status = call(number++, nullptr);
        if (!status.ok()) return status;
      }
      return Status();
    };
    seconds.clear();
    if (Status status = run(plan.warmups); !status.ok()) return status;
    for (std::int32_t replay = 0; replay < plan.replays; ++replay) {
      const double begin = cpu_seconds();
      if (Status status = run(plan.calls); !status.ok()) return status;
      seconds.push_back((cpu_seconds() - begin) / plan.calls);
    }
    return {};
  }

 private:
  emulation::Options options_;
  emulated::Target target_;
  BackendInfo info_;
  HostMemory memory_;
};

}  // namespace

std::unique_ptr<Backend> make_emulated_backend(const EmulationOptions& options) {
  const auto limits = emulation::limits_of(options.emulator.architecture);
  if (!limits) return nullptr;
  return std::make_unique<EmulatedBackend>(options, *limits);
}

}  // namespace servecast::kernels
