#include <algorithm>
#include <cstdint>
#include <doctest/doctest.h>
#include <set>
#include <vector>

#include "tests/kernels/emulation/launches.hpp"

namespace servecast::kernels::SERVECAST_DEVICE {
namespace {

struct Seen {
  uint3 thread;
  uint3 block;
  dim3 threads;
  dim3 blocks;
};

__global__ void look_around(Seen* out) {
  const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  out[block * blockDim.x * blockDim.y * blockDim.z + thread] = {threadIdx, blockIdx, blockDim, gridDim};
}

// A tree sum through static shared memory, and its square through dynamic memory.
__global__ void block_sums(const int* in, int* sums, int* squares) {
  __shared__ int partial[256];
  int* const shared = dynamic_shared<int>();
  const unsigned t = threadIdx.x;
  partial[t] = in[blockIdx.x * blockDim.x + t];
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (t < half) partial[t] += partial[t + half];
    __syncthreads();
  }
  if (t == blockDim.x - 1) shared[0] = partial[0] * partial[0];
  __syncthreads();
  if (t == 0) {
    sums[blockIdx.x] = partial[0];
    squares[blockIdx.x] = shared[0];
  }
}

// Threads that have ended are not waited for.
__global__ void leave_in_steps(int* out) {
  const unsigned t = threadIdx.x;
  for (unsigned round = 0; round < 4; ++round) {
    if (t / 16 < round) return;
    __syncthreads();
    if (t == blockDim.x - 1) ++out[0];
  }
}

struct Totals {
  int count;
  unsigned wide;
  float real;
  int largest;
};

__global__ void add_up(Totals* totals) {
  const auto number = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  atomicAdd(&totals->count, 1);
  atomicAdd(&totals->wide, 2U);
  atomicAdd(&totals->real, 0.5F);
  atomicMax(&totals->largest, number % 77);
}

__global__ void read_fresh_memory(std::uint32_t* out) {
  auto* const shared = dynamic_shared<std::uint32_t>();
  out[blockIdx.x * 2] = shared[0];
  out[blockIdx.x * 2 + 1] = shared[63];
  shared[0] = shared[63] = 1;
}

std::vector<unsigned> order_of_threads;

__global__ void note_order() { order_of_threads.push_back(blockIdx.x * blockDim.x + threadIdx.x); }

std::vector<unsigned> order_with(std::uint64_t seed) {
  const emulation::Options options{.seed = seed};
  order_of_threads.clear();
  REQUIRE(launch(note_order, Grid{.blocks = 8, .threads = 96, .stream = &options}).ok());
  return order_of_threads;
}

bool same(const uint3& a, const uint3& b) { return a.x == b.x && a.y == b.y && a.z == b.z; }
bool same(const dim3& a, const dim3& b) { return a.x == b.x && a.y == b.y && a.z == b.z; }

}  // namespace

TEST_CASE("every thread of the grid runs once and knows its place") {
  const dim3 blocks(3, 2, 2);
  const dim3 threads(5, 4, 3);
  for (const emulation::Options& options : all_orders()) {
    std::vector<Seen> out(12 * 60);
    REQUIRE(launch(look_around, Grid{.blocks = blocks, .threads = threads, .stream = &options}, out.data()).ok());
    for (unsigned i = 0; i < out.size(); ++i) {
      const unsigned thread = i % 60;
      const unsigned block = i / 60;
      CHECK(same(out[i].thread, uint3{thread % 5, thread / 5 % 4, thread / 20}));
      CHECK(same(out[i].block, uint3{block % 3, block / 3 % 2, block / 6}));
      CHECK(same(out[i].threads, threads));
      CHECK(same(out[i].blocks, blocks));
    }
  }
}

TEST_CASE("a block sums through shared memory and barriers, in every order of its threads") {
  std::vector<int> in(4 * 256);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<int>(i % 13);
  for (const emulation::Options& options : all_orders()) {
    std::vector<int> sums(4);
    std::vector<int> squares(4);
    const Grid grid{.blocks = 4, .threads = 256, .shared_bytes = 4, .stream = &options};
    REQUIRE(launch(block_sums, grid, in.data(), sums.data(), squares.data()).ok());
    for (std::size_t block = 0; block < 4; ++block) {
      int expected = 0;
      for (std::size_t i = 0; i < 256; ++i) expected += in[block * 256 + i];
      CHECK(sums[block] == expected);
      CHECK(squares[block] == expected * expected);
    }
  }
}

TEST_CASE("a barrier does not wait for threads that have ended") {
  for (const emulation::Options& options : all_orders()) {
    int rounds = 0;
    REQUIRE(launch(leave_in_steps, one_block(64, 0, &options), &rounds).ok());
    CHECK(rounds == 4);
  }
}

TEST_CASE("atomic operations lose nothing") {
  for (const emulation::Options& options : all_orders()) {
    Totals totals{};
    REQUIRE(launch(add_up, Grid{.blocks = 5, .threads = 64, .stream = &options}, &totals).ok());
    CHECK(totals.count == 320);
    CHECK(totals.wide == 640);
    CHECK(totals.real == 160.0F);
    CHECK(totals.largest == 76);
  }
}

TEST_CASE("dynamic shared memory is poisoned for every block, unless that is switched off") {
  std::vector<std::uint32_t> out(6);
  REQUIRE(launch(read_fresh_memory, Grid{.blocks = 3, .threads = 1, .shared_bytes = 256}, out.data()).ok());
  CHECK(out == std::vector<std::uint32_t>(6, 0xffffffffU));
  const emulation::Options left{.poison_shared = false};
  const Grid grid{.blocks = 3, .threads = 1, .shared_bytes = 256, .stream = &left};
  REQUIRE(launch(read_fresh_memory, grid, out.data()).ok());
  CHECK(out[2] == 1);
}

TEST_CASE("without a seed blocks and threads run in order") {
  const std::vector<unsigned> order = order_with(0);
  CHECK(order.size() == 768);
  CHECK(std::is_sorted(order.begin(), order.end()));
}

TEST_CASE("a seed shuffles blocks, warps and threads, and always the same way") {
  std::set<std::vector<unsigned>> orders;
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    std::vector<unsigned> order = order_with(seed);
    CHECK(order == order_with(seed));
    orders.insert(order);
    CHECK(order[0] / 96 + order[96] / 96 + order[192] / 96 != 3);  // blocks 0, 1, 2
    std::sort(order.begin(), order.end());
    CHECK(order == order_with(0));
  }
  CHECK(orders.size() == 3);
}

TEST_CASE("blocks run one after another, whatever the order") {
  const std::vector<unsigned> order = order_with(7);
  for (std::size_t i = 0; i < order.size(); ++i) CHECK(order[i] / 96 == order[i / 96 * 96] / 96);
}

}  // namespace servecast::kernels::SERVECAST_DEVICE
