#include "kernels/gpu_check/device.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <utility>

#include "kernels/emulation/backend.hpp"
#include "kernels/gpu_check/arena.hpp"

namespace servecast::kernels::gpu_check {
namespace {

// The emulated back end under another name: as the CUDA one looks when its module was loaded.
class Renamed : public Backend {
 public:
  explicit Renamed(std::string name) : inner_(make_emulated_backend({})), info_(inner_->info()) {
    info_.name = std::move(name);
  }

  [[nodiscard]] const BackendInfo& info() const override { return info_; }
  [[nodiscard]] DeviceMemory& memory() override { return inner_->memory(); }
  Status launch(const Operation& operation, Stream stream) override { return inner_->launch(operation, stream); }
  Status synchronize() override { return inner_->synchronize(); }
  Status time(const TimingPlan& plan, const std::function<Status(std::int32_t call, Stream stream)>& call,
              std::vector<double>& seconds) override {
    return inner_->time(plan, call, seconds);
  }

 private:
  std::unique_ptr<Backend> inner_;
  BackendInfo info_;
};

TEST_CASE("a GPU is known by its back end, however that came here") {
  Device device;
  device.backend = std::make_unique<Renamed>("cuda");
  CHECK(device.is_gpu());
  CHECK_FALSE(device.is_linked());
  device.backend = std::make_unique<Renamed>("emulation");
  CHECK_FALSE(device.is_gpu());
}

TEST_CASE("a loaded module's operands are filled by the host") {
  Device device;
  device.backend = std::make_unique<Renamed>("cuda");
  Arena arena(device);
  constexpr std::int64_t kBytes = 4096;
  REQUIRE(arena.reserve(std::int64_t{64} << 20U).ok());
  void* operand = arena.allocate(kBytes);
  REQUIRE(arena.fill(operand, DType::kInt8, kBytes, false).ok());
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(kBytes), 0);
  REQUIRE(device.backend->memory().copy(bytes.data(), operand, kBytes, Copy::kToHost).ok());
  CHECK(std::count(bytes.begin(), bytes.end(), 0) < kBytes / 16);
}

}  // namespace
}  // namespace servecast::kernels::gpu_check
