#include <array>
#include <cmath>
#include <cstdint>
#include <doctest/doctest.h>
#include <numeric>
#include <vector>

#include "tests/kernels/emulation/launches.hpp"

namespace servecast::kernels::SERVECAST_DEVICE {
namespace {

constexpr unsigned kThreads = 64;
constexpr unsigned kFloats = 4;                 // of one copy
constexpr unsigned kTile = kThreads * kFloats;  // of one step

enum class Fault { kNone, kMissingWait, kWeakWait, kMissingFirstBarrier, kMissingLastBarrier };

// Sums tiles of the input with two buffers: the next tile is on its way while this one is read, each thread reading
// what another one copied.
template <Fault kFault>
__global__ void stream_tiles(const float* in, int tiles, float* out) {
  auto* const buffers = dynamic_shared<float>();
  const unsigned t = threadIdx.x;
  const auto issue = [&](int tile) {
    float* const to = buffers + static_cast<unsigned>(tile % 2) * kTile + t * kFloats;
    cp_async16(to, in + static_cast<unsigned>(tile) * kTile + t * kFloats, 16);
  };
  issue(0);
  cp_async_commit();
  float sum = 0;
  for (int tile = 0; tile < tiles; ++tile) {
    if (tile + 1 < tiles) issue(tile + 1);
    cp_async_commit();
    if constexpr (kFault == Fault::kWeakWait) cp_async_wait<2>();
    if constexpr (kFault != Fault::kWeakWait && kFault != Fault::kMissingWait) cp_async_wait<1>();
    if constexpr (kFault != Fault::kMissingFirstBarrier) __syncthreads();
    const float* const from = buffers + static_cast<unsigned>(tile % 2) * kTile + (kThreads - 1 - t) * kFloats;
    for (unsigned i = 0; i < kFloats; ++i) sum += from[i];
    if constexpr (kFault != Fault::kMissingLastBarrier) __syncthreads();
  }
  out[t] = sum;
}

// How far the kernel is from right: largest difference, NaN if one is.
template <Fault kFault>
double error_with(const emulation::Options& options) {
  constexpr int kTiles = 6;
  std::vector<float> in(kTiles * kTile);
  std::iota(in.begin(), in.end(), 1.0F);
  std::vector<float> out(kThreads);
  const Grid grid = one_block(kThreads, std::int64_t{2} * kTile * sizeof(float), &options);
  REQUIRE(launch(stream_tiles<kFault>, grid, in.data(), kTiles, out.data()).ok());
  double error = 0;
  for (std::size_t t = 0; t < kThreads; ++t) {
    double expected = 0;
    for (std::size_t tile = 0; tile < kTiles; ++tile) {
      for (std::size_t i = 0; i < kFloats; ++i) expected += in[tile * kTile + (kThreads - 1 - t) * kFloats + i];
    }
    const double difference = std::abs(out[t] - expected);
    if (!(difference <= error)) error = difference;
  }
  return error;
}

template <Fault kFault>
bool found(emulation::AsyncCopy copy, std::uint64_t seed) {
  return error_with<kFault>({.seed = seed, .async_copy = copy}) != 0;
}

constexpr auto kLazy = emulation::AsyncCopy::kLazy;
constexpr auto kEager = emulation::AsyncCopy::kEager;

__global__ void copy_part(const std::uint8_t* in, std::uint8_t* out) {
  auto* const shared = dynamic_shared<std::uint8_t>();
  const unsigned t = threadIdx.x;
  cp_async16(shared + 16 * t, in + 16 * t, static_cast<int>(t));
  cp_async_commit();
  cp_async_wait<0>();
  for (unsigned i = 0; i < 16; ++i) out[16 * t + i] = shared[16 * t + i];
}

// Three groups of one copy each; `pending` of them may be on their way at the end.
template <int kPending>
__global__ void look_after_wait(const float* in, float* out) {
  auto* const shared = dynamic_shared<float>();
  for (unsigned group = 0; group < 3; ++group) {
    cp_async16(shared + kFloats * group, in + kFloats * group, 16);
    cp_async_commit();
  }
  cp_async16(shared + kFloats * 3, in + kFloats * 3, 16);  // in no committed group: no wait covers it
  cp_async_wait<kPending>();
  for (unsigned group = 0; group < 4; ++group) out[group] = shared[kFloats * group];
}

template <int kPending>
std::array<bool, 4> arrived() {
  const std::vector<float> in(kFloats * 4, 1.0F);
  std::array<float, 4> out{};
  REQUIRE(launch(look_after_wait<kPending>, one_block(1, 64), in.data(), out.data()).ok());
  return {out[0] == 1, out[1] == 1, out[2] == 1, out[3] == 1};
}

}  // namespace

TEST_CASE("double buffering with asynchronous copies is right in every order, lazy and eager") {
  for (const emulation::Options& options : all_orders()) CHECK(error_with<Fault::kNone>(options) == 0);
}

TEST_CASE("lazy copies show a missing wait, a weak wait and a missing barrier after the wait") {
  CHECK(found<Fault::kMissingWait>(kLazy, 0));
  CHECK(found<Fault::kWeakWait>(kLazy, 0));
  CHECK(found<Fault::kMissingFirstBarrier>(kLazy, 0));
  CHECK_FALSE(found<Fault::kMissingWait>(kEager, 0));
}

TEST_CASE("eager copies in a shuffled order show a missing barrier before the buffer is filled again") {
  CHECK(found<Fault::kMissingLastBarrier>(kEager, 1));
  CHECK_FALSE(found<Fault::kMissingLastBarrier>(kLazy, 0));
}

TEST_CASE("what a copy does not take from the source is zero") {
  std::vector<std::uint8_t> in(256);
  std::iota(in.begin(), in.end(), std::uint8_t{0});
  for (const emulation::Options& options : all_orders()) {
    std::vector<std::uint8_t> out(256);
    REQUIRE(launch(copy_part, one_block(16, 256, &options), in.data(), out.data()).ok());
    for (std::size_t i = 0; i < 256; ++i) CHECK(out[i] == (i % 16 < i / 16 ? in[i] : 0));
  }
}

TEST_CASE("a wait leaves the newest groups pending, and what was never committed") {
  CHECK(arrived<0>() == std::array<bool, 4>{true, true, true, false});
  CHECK(arrived<1>() == std::array<bool, 4>{true, true, false, false});
  CHECK(arrived<3>() == std::array<bool, 4>{false, false, false, false});
}

}  // namespace servecast::kernels::SERVECAST_DEVICE
