#include <array>
#include <bit>
#include <cstdint>
#include <doctest/doctest.h>
#include <vector>

#include "tests/kernels/emulation/launches.hpp"

namespace servecast::kernels::SERVECAST_DEVICE {
namespace {

constexpr unsigned kAll = 0xffffffffU;
constexpr int kShuffles = 8;

__global__ void shuffle_all(std::int64_t* out) {
  const unsigned t = threadIdx.x;
  const int value = static_cast<int>(100 + t);
  std::int64_t* const mine = out + t * kShuffles;
  mine[0] = __shfl_sync(kAll, value, 5);
  mine[1] = __shfl_sync(kAll, value, static_cast<int>(t) + 3, 8);
  mine[2] = __shfl_xor_sync(kAll, value, 17);
  mine[3] = __shfl_xor_sync(kAll, value, 12, 8);
  mine[4] = __shfl_down_sync(kAll, value, 3);
  mine[5] = __shfl_down_sync(kAll, value, 2, 4);
  mine[6] = __shfl_up_sync(kAll, value, 3);
  mine[7] = __shfl_up_sync(kAll, std::int64_t{value} << 40, 1, 16) >> 40;
}

// The lane that each of shuffle_all's reads, by CUDA's definition; a lane without a partner reads itself.
std::array<unsigned, kShuffles> sources(unsigned lane) {
  const unsigned of8 = lane / 8 * 8;
  return {5U,
          of8 + (lane + 3) % 8,
          lane ^ 17U,
          (lane ^ 12U) < of8 + 8 ? lane ^ 12U : lane,
          lane + 3 < 32 ? lane + 3 : lane,
          lane % 4 < 2 ? lane + 2 : lane,
          lane >= 3 ? lane - 3 : lane,
          lane % 16 >= 1 ? lane - 1 : lane};
}

__global__ void halves(float* out) {
  const unsigned t = threadIdx.x;
  const unsigned mask = t < 16 ? 0xffffU : 0xffff0000U;
  float sum = static_cast<float>(t);
  for (int lanes = 8; lanes > 0; lanes /= 2) sum += __shfl_xor_sync(mask, sum, lanes);
  out[t] = sum;
}

struct Votes {
  unsigned ballot;
  int any;
  int all;
  int none;
};

__global__ void vote_all(Votes* out) {
  const unsigned t = threadIdx.x;
  out[t].ballot = __ballot_sync(kAll, t % 3 == 0);
  out[t].any = __any_sync(kAll, t % 32 == 31);
  out[t].all = __all_sync(kAll, t < 64);
  out[t].none = __any_sync(kAll, t == 1000);
}

// Lanes that have ended, or never were, do not vote and are not waited for.
__global__ void vote_without_some(Votes* out) {
  const unsigned t = threadIdx.x;
  if (t % 32 < 4) return;
  out[t].ballot = __ballot_sync(kAll, 1);
  out[t].all = __all_sync(kAll, t % 32 >= 4);
  __syncwarp();
}

__global__ void pass_along(int* out) {
  __shared__ int values[32];
  const unsigned t = threadIdx.x;
  for (int round = 0; round < 5; ++round) {
    values[t] = static_cast<int>(t) + round;
    __syncwarp();
    out[t] += values[(t + 1) % 32];
    __syncwarp();
  }
}

__global__ void count_bits(int* out) {
  out[0] = __popc(0xf0f0U);
  out[1] = __popcll(0xf0f0f0f0f0f0f0f0ULL);
  out[2] = __ffs(0x50);
  out[3] = __ffs(0);
  out[4] = __ffsll(1LL << 40);
  out[5] = __clz(1);
  out[6] = __clz(0);
}

}  // namespace

TEST_CASE("a shuffle reads the lane that CUDA's definition names, in every order of the threads") {
  for (const emulation::Options& options : all_orders()) {
    std::vector<std::int64_t> out(std::size_t{64} * kShuffles);
    REQUIRE(launch(shuffle_all, one_block(64, 0, &options), out.data()).ok());
    for (unsigned thread = 0; thread < 64; ++thread) {
      const auto lanes = sources(thread % 32);
      for (std::size_t i = 0; i < kShuffles; ++i) {
        CHECK(out[thread * kShuffles + i] == 100 + thread / 32 * 32 + lanes[i]);
      }
    }
  }
}

TEST_CASE("disjoint groups of one warp shuffle independently") {
  for (const emulation::Options& options : all_orders()) {
    std::vector<float> out(32);
    REQUIRE(launch(halves, one_block(32, 0, &options), out.data()).ok());
    for (std::size_t t = 0; t < 32; ++t) CHECK(out[t] == (t < 16 ? 120.0F : 376.0F));
  }
}

TEST_CASE("votes count the lanes of the thread's own warp") {
  for (const emulation::Options& options : all_orders()) {
    std::vector<Votes> out(96);
    REQUIRE(launch(vote_all, one_block(96, 0, &options), out.data()).ok());
    for (unsigned t = 0; t < 96; ++t) {
      unsigned expected = 0;
      for (unsigned lane = 0; lane < 32; ++lane) expected |= (t / 32 * 32 + lane) % 3 == 0 ? 1U << lane : 0U;
      CHECK(out[t].ballot == expected);
      CHECK(out[t].any == 1);
      CHECK(out[t].all == (t < 64 ? 1 : 0));
      CHECK(out[t].none == 0);
    }
  }
}

TEST_CASE("lanes that have ended or do not exist take no part in a vote") {
  for (const emulation::Options& options : all_orders()) {
    std::vector<Votes> out(48);
    REQUIRE(launch(vote_without_some, one_block(48, 0, &options), out.data()).ok());
    CHECK(out[10].ballot == 0xfffffff0U);
    CHECK(out[40].ballot == 0xfff0U);
    CHECK(out[40].all == 1);
  }
}

TEST_CASE("__syncwarp orders what lanes tell each other through shared memory") {
  for (const emulation::Options& options : all_orders()) {
    std::vector<int> out(32);
    REQUIRE(launch(pass_along, one_block(32, 0, &options), out.data()).ok());
    for (int t = 0; t < 32; ++t) CHECK(out[static_cast<std::size_t>(t)] == 5 * ((t + 1) % 32) + 10);
  }
}

TEST_CASE("bits are counted as CUDA counts them") {
  std::vector<int> out(7);
  REQUIRE(launch(count_bits, one_block(1), out.data()).ok());
  CHECK(out == std::vector<int>{8, 32, 5, 0, 41, 31, 32});
}

}  // namespace servecast::kernels::SERVECAST_DEVICE
