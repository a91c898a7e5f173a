#include "kernels/cpu/backend.hpp"

#include <cstring>
#include <ctime>
#include <new>
#include <variant>

#include "kernels/cpu/host.hpp"
#include "kernels/cpu/operators.hpp"

namespace servecast::kernels {
namespace {

class HostMemory final : public DeviceMemory {
 public:
  void* allocate(std::int64_t bytes) override {
    return ::operator new(static_cast<std::size_t>(bytes), kAlignment, std::nothrow);
  }
  void release(void* pointer) override { ::operator delete(pointer, kAlignment); }
  Status copy(void* to, const void* from, std::int64_t bytes, Copy) override {
    if (bytes > 0) std::memcpy(to, from, static_cast<std::size_t>(bytes));
    return {};
  }

 private:
  static constexpr std::align_val_t kAlignment{256};
};

double process_seconds() {
  std::timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

class CpuBackend final : public Backend {
 public:
  CpuBackend(std::int32_t threads, bool deterministic, cpu::Isa isa) : runtime_(threads, !deterministic, isa) {
    info_.name = "cpu";
    info_.device = cpu::processor_name();
    info_.device.append(" (").append(cpu::name_of(isa)).append(")");
    info_.processors = threads;
    info_.memory_bytes = cpu::memory_bytes();
    info_.l2_bytes = cpu::l2_bytes();
  }

  const BackendInfo& info() const override { return info_; }
  DeviceMemory& memory() override { return memory_; }

  Status launch(const Operation& operation, Stream) override {
    if (Status status = validate(operation); !status.ok()) return status;
    if (Status status = cpu::refusal(operation); !status.ok()) return status;
    std::visit([&](const auto& op) { cpu::run(op, runtime_); }, operation);
    return {};
  }

  Status synchronize() override { return {}; }

  Status time(const TimingPlan& plan, const std::function<Status(std::int32_t call, Stream stream)>& call,
              std::vector<double>& seconds) override {
    seconds.clear();
    std::int32_t number = 0;
    for (std::int32_t i = 0; i < plan.warmups; ++i) {
      if (Status status = call(number++, nullptr); !status.ok()) return status;
    }
    for (std::int32_t replay = 0; replay < plan.replays; ++replay) {
      const double from = process_seconds();
      for (std::int32_t i = 0; i < plan.calls; ++i) {
        if (Status status = call(number++, nullptr); !status.ok()) return status;
      }
      seconds.push_back((process_seconds() - from) / plan.calls);
    }
    return {};
  }

 private:
  cpu::Runtime runtime_;
  HostMemory memory_;
  BackendInfo info_;
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend(const CpuOptions& options) {
  const cpu::Isa isa = options.isa.value_or(cpu::best_isa());
  if (options.threads < 1 || !cpu::supported(isa)) return nullptr;
  return std::make_unique<CpuBackend>(options.threads, options.deterministic, isa);
}

}  // namespace servecast::kernels
