#include "kernels/emulation/backend.hpp"

#include <algorithm>
#include <cstdint>
#include <doctest/doctest.h>
#include <memory>
#include <vector>

namespace servecast::kernels {
namespace {

std::unique_ptr<Backend> backend_with_memory(std::int64_t bytes) {
  EmulationOptions options;
  options.memory_bytes = bytes;
  return make_emulated_backend(options);
}

}  // namespace

TEST_CASE("the emulated back end says what it stands for") {
  EmulationOptions options;
  options.emulator.architecture = 86;
  options.processors = 7;
  const auto backend = make_emulated_backend(options);
  REQUIRE(backend != nullptr);
  CHECK(backend->info().name == "emulation");
  CHECK(backend->info().device == "CUDA emulated on the CPU, sm_86");
  CHECK(backend->info().architecture == 86);
  CHECK(backend->info().processors == 7);
  CHECK(backend->info().shared_memory_per_block == 99 * 1024);
  options.emulator.architecture = 35;
  CHECK(make_emulated_backend(options) == nullptr);
}

TEST_CASE("emulated device memory is aligned, poisoned, and has an end") {
  const auto backend = backend_with_memory(1000);
  DeviceMemory& memory = backend->memory();
  void* const first = memory.allocate(600);
  REQUIRE(first != nullptr);
  CHECK(reinterpret_cast<std::uintptr_t>(first) % 256 == 0);
  std::vector<std::uint8_t> bytes(600);
  CHECK(memory.copy(bytes.data(), first, 600, Copy::kToHost).ok());
  CHECK(bytes == std::vector<std::uint8_t>(600, 0xff));
  CHECK(memory.allocate(401) == nullptr);
  CHECK(memory.allocate(-1) == nullptr);
  memory.release(first);
  void* const second = memory.allocate(1000);
  CHECK(second != nullptr);
  memory.release(second);
}

TEST_CASE("an operation runs on emulated memory") {
  const auto backend = backend_with_memory(1 << 20);
  DeviceMemory& memory = backend->memory();
  const std::vector<std::int32_t> from_to = {2, 0, 1, 3};
  std::vector<std::int32_t> blocks(std::size_t{4} * 8);
  for (std::size_t i = 0; i < blocks.size(); ++i) blocks[i] = static_cast<std::int32_t>(i / 8);
  CopyBlocks op{.pairs = 2, .blocks = 4, .block_bytes = 32};
  auto* const pairs = static_cast<std::int32_t*>(memory.allocate(16));
  op.from_to = pairs;
  op.cache = memory.allocate(128);
  REQUIRE(memory.copy(pairs, from_to.data(), 16, Copy::kToDevice).ok());
  REQUIRE(memory.copy(op.cache, blocks.data(), 128, Copy::kToDevice).ok());
  REQUIRE(backend->launch(op, nullptr).ok());
  REQUIRE(backend->synchronize().ok());
  REQUIRE(memory.copy(blocks.data(), op.cache, 128, Copy::kToHost).ok());
  const std::int32_t expected[] = {2, 1, 2, 1};
  for (std::size_t i = 0; i < blocks.size(); ++i) CHECK(blocks[i] == expected[i / 8]);
  op.block_bytes = 17;
  CHECK(backend->launch(op, nullptr).code() == Status::Code::kInvalid);
}

TEST_CASE("launchers know the architecture that is emulated") {
  EmulationOptions options;
  options.emulator.architecture = 75;
  const auto backend = make_emulated_backend(options);
  float storage[64] = {};
  RmsNorm op{.type = DType::kBf16, .rows = 1, .width = 8};
  op.x = op.weight = op.out = storage;
  const Status status = backend->launch(op, nullptr);
  CHECK(status.code() == Status::Code::kUnsupported);
  CHECK(status.message().find("sm_75") != std::string::npos);
}

TEST_CASE("timing makes the calls of the plan, numbers them, and stops at the first that fails") {
  const auto backend = backend_with_memory(0);
  std::vector<std::int32_t> numbers;
  std::vector<double> seconds;
  const auto note = [&](std::int32_t call, Stream /*stream*/) {
    numbers.push_back(call);
    return Status();
  };
  REQUIRE(backend->time({.warmups = 1, .calls = 2, .replays = 3}, note, seconds).ok());
  CHECK(numbers == std::vector<std::int32_t>{0, 1, 2, 3, 4, 5, 6});
  CHECK(seconds.size() == 3);
  const auto fail = [](std::int32_t call, Stream /*stream*/) { return call == 3 ? Status::device("no") : Status(); };
  CHECK(backend->time({.warmups = 1, .calls = 2, .replays = 3}, fail, seconds).message() == "no");
  CHECK(seconds.size() == 1);
}

TEST_CASE("timing measures the CPU's time for one call") {
  const auto backend = backend_with_memory(0);
  std::vector<double> seconds;
  volatile std::uint64_t sum = 0;
  const auto busy = [&](std::int32_t /*call*/, Stream /*stream*/) {
    for (std::uint64_t i = 0; i < 5'000'000; ++i) sum = sum + i;
    return Status();
  };
  // What else the machine does slows single calls down; the fastest of many is the work itself.
  const auto fastest = [&](std::int32_t calls) {
    REQUIRE(backend->time({.warmups = 1, .calls = calls, .replays = 8}, busy, seconds).ok());
    return *std::min_element(seconds.begin(), seconds.end());
  };
  const double once = fastest(1);
  CHECK(once > 1e-3);
  // A mean over eight calls, and no sum: far from eight times as much, in either direction.
  const double each = fastest(8);
  CHECK(each > once / 4);
  CHECK(each < once * 4);
}

}  // namespace servecast::kernels
