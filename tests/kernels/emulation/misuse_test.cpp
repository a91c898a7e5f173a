#include <cstdint>
#include <doctest/doctest.h>
#include <stdexcept>
#include <string>

#include "tests/kernels/emulation/launches.hpp"

#define FAULT (fault_line = __LINE__)

namespace servecast::kernels::SERVECAST_DEVICE {
namespace {

int fault_line = 0;  // where the kernel that ran last has its fault

__global__ void divergent_barrier(float*) {
  if (threadIdx.x < 32) {
    __syncthreads();
  } else {
    FAULT, __syncthreads();
  }
}

__global__ void shuffle_with_an_ended_lane(float* out) {
  const unsigned t = threadIdx.x;
  if (t == 7) return;
  FAULT, out[t] = __shfl_xor_sync(0xffffffffU, 1.0F, 8);
}

__global__ void lane_ends_while_others_wait(float* out) {
  const unsigned t = threadIdx.x;
  if (t != 31) FAULT, out[t] = __shfl_xor_sync(0xffffffffU, 1.0F, 8);
}

__global__ void different_shuffles(float* out) {
  const unsigned t = threadIdx.x;
  if (t % 2 == 0) {
    out[t] = __shfl_xor_sync(0xffffffffU, 1.0F, 8);
  } else {
    FAULT, out[t] = __shfl_xor_sync(0xffffffffU, 1.0F, 4);
  }
}

__global__ void shuffle_and_vote(float* out) {
  const unsigned t = threadIdx.x;
  if (t < 5) {
    out[t] = __shfl_sync(0xffffffffU, 1.0F, 8);
  } else {
    FAULT, __ballot_sync(0xffffffffU, 1);
  }
}

__global__ void mask_without_itself(float*) {
  if (threadIdx.x == 0) FAULT, __syncwarp(0x2U);
}

__global__ void source_outside_of_the_mask(float* out) {
  const unsigned t = threadIdx.x;
  if (t < 16) FAULT, out[t] = __shfl_sync(0xffffU, 1.0F, 20);
}

__global__ void source_that_does_not_exist(float* out) { FAULT, out[threadIdx.x] = __shfl_sync(0xffffffffU, 1.0F, 20); }

__global__ void deadlock(float*) {
  if (threadIdx.x == 0) {
    FAULT, __syncwarp(0x3U);
  } else {
    __syncthreads();
  }
}

__global__ void product_of_half_a_warp(float* out) {
  const std::uint32_t a[4] = {};
  float d[4] = {};
  FAULT, mma_m16n8k16<Bf16>(d, a, 0, 0);
  out[threadIdx.x] = d[0];
}

__global__ void misaligned_copy_to(float* out) { FAULT, cp_async16(dynamic_shared<float>() + 1, out, 16); }

__global__ void misaligned_copy_from(float* out) { FAULT, cp_async16(dynamic_shared<float>(), out + 1, 16); }

__global__ void copy_of_too_much(float* out) { FAULT, cp_async16(dynamic_shared<float>(), out, 17); }

__global__ void misaligned_matrix(float* out) {
  std::uint32_t registers[4];
  FAULT, ldmatrix_x4(registers, dynamic_shared<float>() + 2 * threadIdx.x);
  out[threadIdx.x] = static_cast<float>(registers[0]);
}

__global__ void copy_beyond_shared_memory(float* out) { FAULT, cp_async16(dynamic_shared<float>() + 256, out, 16); }

__global__ void matrix_beyond_shared_memory(float* out) {
  std::uint32_t registers[4];
  FAULT, ldmatrix_x4(registers, dynamic_shared<float>() + 256 - 4 * threadIdx.x);
  out[threadIdx.x] = static_cast<float>(registers[0]);
}

__global__ void matrix_in_a_local_array(float* out) {
  alignas(16) const float row[4] = {};
  std::uint32_t registers[4];
  FAULT, ldmatrix_x4(registers, row);
  out[threadIdx.x] = static_cast<float>(registers[0]);
}

__global__ void static_shared_memory(float* out) {
  alignas(16) __shared__ float rows[32][4];
  cp_async16(rows[threadIdx.x], out, 16);
  std::uint32_t registers[4];
  ldmatrix_x4(registers, rows[threadIdx.x]);
}

__global__ void bf16_product(float* out) {
  const std::uint32_t a[4] = {};
  float d[4] = {};
  FAULT, mma_m16n8k16<Bf16>(d, a, 0, 0);
  out[threadIdx.x] = d[0];
}

__global__ void aligned_copy(float* out) { FAULT, cp_async16(dynamic_shared<float>(), out, 16); }

__global__ void throwing(float*) { throw std::runtime_error("out of cheese"); }

__global__ void nothing(float*) {}

__global__ void launching(float* out) {
  const Status status = launch(nothing, one_block(1), out);
  out[0] = contains(status.message(), "a kernel launches a kernel") ? 1.0F : 0.0F;
}

alignas(16) float memory[1024];

std::string message_of(void (*kernel)(float*), const Grid& grid) {
  fault_line = 0;
  const Status status = launch(kernel, grid, memory);
  CHECK(status.code() == Status::Code::kDevice);
  return status.message();
}

// Expects the error on the line of the fault, and the same in a second launch: an error leaves nothing behind.
void check_misuse(void (*kernel)(float*), const std::string& what, dim3 threads = 64,
                  const emulation::Options& options = {}) {
  for (int launches = 0; launches < 2; ++launches) {
    const std::string message = message_of(kernel, one_block(threads, 1024, &options));
    INFO(message);
    CHECK(contains(message, what));
    CHECK(contains(message, "misuse_test.cpp:" + std::to_string(fault_line)));
    CHECK(contains(message, "block (0, 0, 0)"));
  }
  CHECK(launch(nothing, one_block(threads), memory).ok());
}

}  // namespace

TEST_CASE("a barrier that only some threads reach is found") {
  check_misuse(divergent_barrier, "thread (32, 0, 0) of block (0, 0, 0): divergent __syncthreads");
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    const emulation::Options shuffled{.seed = seed};
    CHECK(contains(message_of(divergent_barrier, one_block(64, 0, &shuffled)), "divergent __syncthreads"));
  }
}

TEST_CASE("a shuffle that names a lane that has ended, or ends meanwhile, is found") {
  check_misuse(shuffle_with_an_ended_lane, "a shuffle", 32);
  check_misuse(lane_ends_while_others_wait, "thread (31, 0, 0) of block (0, 0, 0): ends while lanes of its warp wait");
}

TEST_CASE("lanes of one mask at different warp operations are found") {
  check_misuse(different_shuffles, "other lanes of the mask are in another warp operation, a shuffle", 32);
  check_misuse(shuffle_and_vote, "a vote: other lanes of the mask are in another warp operation, a shuffle", 32);
}

TEST_CASE("masks and sources that cannot be are found") {
  check_misuse(mask_without_itself, "__syncwarp: the mask lacks its own lane 0");
  check_misuse(source_outside_of_the_mask, "reads lane 20, which is not in the mask");
  check_misuse(source_that_does_not_exist, "reads lane 20, which is not in the mask or does not exist", 8);
}

TEST_CASE("a deadlock names who waits where") {
  check_misuse(deadlock, "deadlock in block (0, 0, 0): no thread can go on; 1 in __syncwarp");
  const std::string message = message_of(deadlock, one_block(64));
  CHECK(contains(message, "63 in __syncthreads"));
  CHECK(contains(message, "the first is thread (1, 0, 0); 0 have ended"));
}

TEST_CASE("a matrix product needs a whole warp") {
  check_misuse(product_of_half_a_warp, "mma.m16n8k16.bf16: needs the whole warp, the block does not have lane 16", 16);
}

TEST_CASE("addresses that an instruction does not take are found") {
  check_misuse(misaligned_copy_to, "cp.async: the shared address is not aligned to 16 bytes");
  check_misuse(misaligned_copy_from, "cp.async: the global address is not aligned to 16 bytes");
  check_misuse(copy_of_too_much, "cp.async: source_bytes is not in 0 … 16");
  check_misuse(misaligned_matrix, "ldmatrix: the row is not aligned to 16 bytes", 32);
}

TEST_CASE("copies and matrix loads outside of shared memory are found") {
  check_misuse(copy_beyond_shared_memory, "cp.async writes outside of shared memory");
  check_misuse(matrix_beyond_shared_memory, "ldmatrix reads outside of shared memory", 32);
  check_misuse(matrix_in_a_local_array, "ldmatrix reads outside of shared memory", 32);
  CHECK(launch(static_shared_memory, one_block(32), memory).ok());
}

TEST_CASE("an architecture has the instructions that it has") {
  const emulation::Options turing{.architecture = 75};
  check_misuse(bf16_product, "mma.m16n8k16.bf16 needs sm_80, this is sm_75", 32, turing);
  check_misuse(aligned_copy, "cp.async needs sm_80, this is sm_75", 1, turing);
}

TEST_CASE("an exception that leaves a kernel is an error of the launch") {
  const std::string message = message_of(throwing, one_block(4));
  CHECK(contains(message, "thread (0, 0, 0) of block (0, 0, 0): an exception leaves the kernel: out of cheese"));
  CHECK(launch(nothing, one_block(4), memory).ok());
}

TEST_CASE("a kernel cannot launch a kernel") {
  REQUIRE(launch(launching, one_block(1), memory).ok());
  CHECK(memory[0] == 1.0F);
}

}  // namespace servecast::kernels::SERVECAST_DEVICE
